package api

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// mayGrow ends the description of a closed set in a response.
const mayGrow = "More values may be added."

const schemaPrefix = "#/components/schemas/"

// choices returns the values of closed sets by the Go type of their fields. Other closed sets have the tag enum.
func choices() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		reflect.TypeFor[task.Status]():        anys(task.Statuses()),
		reflect.TypeFor[task.Group]():         anys(task.Groups()),
		reflect.TypeFor[task.BlockedReason](): anys(task.BlockedReasons()),
		reflect.TypeFor[task.FailureClass](): anys([]task.FailureClass{
			task.ClassNone, task.ClassInfrastructure, task.ClassProviderLimit, task.ClassAgentError, task.ClassResources, task.ClassStopped,
			task.ClassInvalidInput, task.ClassCredentials, task.ClassPublish, task.ClassBudget, task.ClassTerminated, task.ClassReported,
		}),
		reflect.TypeFor[task.SandboxState](): anys([]task.SandboxState{
			task.SandboxIntended, task.SandboxCreating, task.SandboxRunning, task.SandboxDeleting, task.SandboxGone, task.SandboxLost,
		}),
		reflect.TypeFor[task.Receipt](): anys([]task.Receipt{
			task.ReceiptAccepted, task.ReceiptCarriedOut, task.ReceiptTooLate, task.ReceiptRefused,
		}),
		reflect.TypeFor[task.ReasonCode](): anys(append([]task.ReasonCode{""}, explain.ReasonCodes()...)),
	}
}

// checkedChoices returns the values of the request fields that handlers check themselves. An empty value means the
// default.
func checkedChoices() map[string]map[string][]any {
	words := map[string][]any{
		"agent": anys(task.RuntimeNames()), "provider": anys(task.ProviderNames()), "sandbox": anys(task.ProviderNames()),
		"mode": anys(modes()), "phase_id": anys(task.Phases()), "priority": anys(task.Priorities()),
	}
	return map[string]map[string][]any{
		"CreateTaskRequest": words, "FirstTask": words,
		"UpdateTaskRequest": {"phase_id": words["phase_id"], "priority": words["priority"]},
	}
}

// describeChoices adds the values of closed sets to the document.
func describeChoices(document *huma.OpenAPI) {
	registry, asked := document.Components.Schemas, requestSchemas(document)
	filters := map[string]map[string][]any{
		"tasks": {"status": anys(task.Statuses()), "group": anys(task.Groups())}, "sandboxes": {"state": anys(sandboxStates())},
	}
	for path, values := range filters {
		for _, p := range document.Paths["/api/v1/"+path].Get.Parameters {
			if len(values[p.Name]) > 0 {
				p.Schema.Items.Extensions = map[string]any{"enum": values[p.Name]}
			}
		}
	}
	ofType, ofField := choices(), checkedChoices()
	for name, schema := range registry.Map() {
		for property, t := range fieldsOf(registry.TypeFromRef(schemaPrefix + name)) {
			if p := schema.Properties[property]; p != nil && len(p.Enum) == 0 {
				p.Enum = ofType[t]
			}
		}
		for property, p := range schema.Properties {
			switch values := ofField[name][property]; {
			case len(values) > 0 && len(p.Enum) == 0:
				p.Extensions = map[string]any{"enum": values} // in the document, not in the validation
			case len(p.Enum) > 0 && !asked[name] && !strings.HasSuffix(p.Description, mayGrow):
				p.Description = strings.TrimSpace(p.Description + " " + mayGrow)
			}
		}
	}
}

// fieldsOf returns the types of the fields of a struct by their JSON names.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	if t == nil || t.Kind() != reflect.Struct {
		return found
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		found[name] = f.Type
	}
	return found
}

func anys[T ~string](values []T) []any {
	all := make([]any, len(values))
	for n, value := range values {
		all[n] = string(value)
	}
	return all
}
