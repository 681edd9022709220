package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// objects returns the types of objects that omoi stores unchanged, by schema and property.
func objects() map[string]map[string]reflect.Type {
	execution, settings := reflect.TypeFor[client.ExecutionConfig](), reflect.TypeFor[client.ProjectSettings]()
	analysis := reflect.TypeFor[supervise.Analysis]()
	return map[string]map[string]reflect.Type{
		"Task":                       {"execution_config": execution, "result": reflect.TypeFor[client.TaskResult]()},
		"CreateTaskRequest":          {"execution_config": execution},
		"FirstTask":                  {"execution_config": execution},
		"Project":                    {"settings": settings},
		"CreateProjectRequest":       {"settings": settings},
		"UpdateProjectRequest":       {"settings": settings},
		"LegacyProject":              {"settings": settings},
		"CreateLegacyProjectRequest": {"settings": settings},
		"ConductorDuplicate":         {"resources": reflect.TypeFor[client.SharedResources]()},
		"GuardianAction":             {"audit_log": reflect.TypeFor[client.ActionAudit]()},
		"GuardianAnalysis": {
			"analysis": analysis, "subject": reflect.TypeFor[supervise.Subject](), "rules": reflect.TypeFor[guardian.Rules](),
		},
		"AgentAnalysis":     {"details": analysis},
		"ConductorAnalysis": {"details": reflect.TypeFor[supervise.Fleet]()},
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
	for _, free := range [][2]string{
		{"ExecutionConfig", "script"},
		{"Validator", "script"},
		{"Ticket", "context"},
		{"CreateTicketRequest", "context"},
		{"UpdateTicketRequest", "context"},
		{"Validation", "evidence"},
		{"Verdict", "evidence"},
	} {
		property := registry.Map()[free[0]].Properties[free[1]]
		property.Extensions = map[string]any{"type": huma.TypeObject, "additionalProperties": true}
	}
	for _, kind := range []string{huma.TypeString, huma.TypeNumber, huma.TypeBoolean} {
		value := registry.Map()["ProblemDetail"].Properties["value"]
		value.AnyOf = append(value.AnyOf, &huma.Schema{Type: kind})
	}
	describeFixed(registry.Map())
}

// describeFixed gives the fields that PATCH rejects with 409 the types that they have at creation. The validation knows no
// type: a value of another type is rejected with 409 too.
func describeFixed(schemas map[string]*huma.Schema) {
	for _, resource := range []string{"Task", "Ticket", "Project"} {
		created := schemas["Create"+resource+"Request"].Properties
		for name, property := range schemas["Update"+resource+"Request"].Properties {
			of := created[name]
			switch {
			case property.Type != "" || property.Ref != "" || property.Extensions != nil:
			case of.Extensions != nil:
				property.Extensions = of.Extensions
			case of.Ref != "":
				property.Extensions = map[string]any{"$ref": of.Ref}
			default:
				property.Extensions = map[string]any{"type": of.Type}
			}
		}
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
