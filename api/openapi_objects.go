package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
)

// objects returns the types of objects that omoi stores unchanged, by schema and property.
func objects() map[string]map[string]reflect.Type {
	execution, settings := reflect.TypeFor[client.ExecutionConfig](), reflect.TypeFor[client.ProjectSettings]()
	return map[string]map[string]reflect.Type{
		"Task":                 {"execution_config": execution, "result": reflect.TypeFor[client.TaskResult]()},
		"CreateTaskRequest":    {"execution_config": execution},
		"FirstTask":            {"execution_config": execution},
		"Project":              {"settings": settings},
		"CreateProjectRequest": {"settings": settings},
		"UpdateProjectRequest": {"settings": settings},
		"ConductorDuplicate":   {"resources": reflect.TypeFor[client.SharedResources]()},
		"GuardianAction":       {"audit_log": reflect.TypeFor[client.ActionAudit]()},
	}
}

// describeObjects documents the fields of these objects that omoi reads and writes. Handlers check requests, since the
// validation of huma does not know these types.
func describeObjects(document *huma.OpenAPI) {
	registry, asked := document.Components.Schemas, requestSchemas(document)
	for schema, properties := range objects() {
		for name, t := range properties {
			property, ref := registry.Map()[schema].Properties[name], registry.Schema(t, true, "").Ref
			openObject(registry, ref)
			switch {
			case asked[schema]:
				property.Extensions = map[string]any{"$ref": ref}
			case name == "result":
				other := &huma.Schema{
					Type: huma.TypeObject, AdditionalProperties: true, Description: "A result with keys of a program outside.",
				}
				property.AnyOf = []*huma.Schema{{Ref: ref}, other, {Type: "null"}}
			default:
				property.Ref = ref
			}
		}
	}
	for _, name := range []string{"ExecutionConfig", "Validator"} {
		script := registry.Map()[name].Properties["script"]
		script.Type, script.AdditionalProperties = huma.TypeObject, true
	}
}

// openObject allows unknown keys in an object and in the objects inside it.
func openObject(registry huma.Registry, ref string) {
	schema := registry.SchemaFromRef(ref)
	schema.AdditionalProperties = true
	for _, property := range schema.Properties {
		if values, ok := property.AdditionalProperties.(*huma.Schema); ok && values.Type == "" {
			property.AdditionalProperties = true
		}
		if property.Ref != "" {
			openObject(registry, property.Ref)
		}
		if property.Items != nil && property.Items.Ref != "" {
			openObject(registry, property.Items.Ref)
		}
	}
}
