package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Document returns the OpenAPI 3.1 document of the API, indented, with a final newline.
func (a *API) Document() ([]byte, error) {
	content, err := json.MarshalIndent(a.huma.OpenAPI(), "", "  ")
	return append(content, '\n'), err
}

func (a *API) document() huma.Config {
	c := huma.DefaultConfig("omoi", "1")
	c.Info.Description = "omoi runs AI coding agents as durable Temporal workflows. Moments are in RFC 3339, names of numbers end in " +
		"their unit, errors are problem documents of RFC 9457. Lists take limit and cursor and return items and next_cursor."
	c.Servers = []*huma.Server{{URL: "/", Description: "The server that this document was read from."}}
	c.Tags = tags()
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "/api/v1/openapi", "", ""
	c.Formats = formats(c.Formats)
	c.CreateHooks = nil // without $schema fields responses keep their form
	c.Transformers = []huma.Transformer{a.transform}
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", nameOfSchema)
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "API key, also accepted as Authorization: " +
			"Bearer."},
		"login": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "JWT, signed by HS256 with " +
			"api.jwt_secret. Claims: sub and exp; optionally org, and scopes, of which the default is write."},
		"sandbox": {Type: "http", Scheme: "bearer", Description: "Token of the sandbox in the path, which its agent has."},
	}
	c.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[client.OptionalBool](), reflect.TypeFor[bool]())
	c.Components.Responses = problems(c.Components.Schemas)
	return c
}

// tags describes the tags of the document. An operation has the tag of its resource and, if so, [tagLegacy].
func tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagTasks, Description: "Tasks and what belongs to them: commands, dependencies, events, transcripts, " +
			"checkpoints, saved work, receipts."},
		{Name: tagProjects, Description: "Projects, tickets and organizations: settings, limits, budgets, pause and " +
			"resume; branches."},
		{Name: tagSandboxes, Description: "Sandboxes, their events, messages, logs, transcripts and checkpoints; hosts and stored data."},
		{Name: tagGuardian, Description: "Supervision: analyses, interventions, duplicates, diagnoses, monitoring and " +
			"its schedules."},
		{Name: tagCredentials, Description: "Credentials with which agents and git log in elsewhere."},
		{Name: tagWebhooks, Description: "Webhooks that omoi receives."},
		{Name: tagNotices, Description: "Notices of tasks to receivers outside omoi."},
		{Name: tagServer, Description: "The server: health, version, metrics and API keys."},
		{Name: tagLegacy, Description: "Operations of the legacy API (OmoiOS), whose requests and answers never change. " +
			"Unknown body fields are ignored. Clients of OmoiOS put /legacy into their base address: " +
			"each route is served below it too, and those that differ have paths below it."},
	}
}

// isLegacy reports whether an operation belongs to the legacy API, in its unchanged form.
func isLegacy(method, path string) bool {
	inSandboxes, found := strings.CutPrefix(path, "/api/v1/sandboxes")
	return !found && tolerant(path) || found && slices.Contains([]string{
		"GET /health", "GET /monitoring/status", "POST /admin/clear-tracked-sandboxes",
		"GET /{sandbox_id}/events", "POST /{sandbox_id}/events", "GET /{sandbox_id}/trajectory",
		"GET /{sandbox_id}/messages", "POST /{sandbox_id}/messages", "GET /{sandbox_id}/task",
		"POST /{sandbox_id}/task-complete", "POST /{sandbox_id}/validation-result", "GET /{sandbox_id}/phase-status",
	}, method+" "+inSandboxes)
}

func tagsOf(r route) []string {
	if isLegacy(r.method, r.path) {
		return []string{r.tag, tagLegacy}
	}
	return []string{r.tag}
}

// nameOfSchema returns the name of a type in the document. Types of some packages are named with their package, for
// example GuardianAnalysis, and a page of a list by its items, for example ProjectList.
func nameOfSchema(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for pkg, owner := range map[string]string{
		"guardian": "Guardian", "conductor": "Conductor", "credential": "Credential", "feedback": "Feedback", "spec": "Spec",
		"transcript": "Transcript", "checkpoint": "Checkpoint", "supervise": "Analysis", "taskcontract": "Contract",
	} {
		_, inner, found := strings.Cut(t.PkgPath()+"."+t.Name(), "/internal/"+pkg+".")
		if inner = strings.TrimRight(inner, "]"); found && inner != owner && !strings.Contains(inner, owner) {
			name = strings.TrimSuffix(name, inner) + owner + inner
		}
	}
	if strings.HasPrefix(t.Name(), "Page[") {
		return strings.TrimPrefix(name, "Page") + "List"
	}
	return name
}

func securityOf(want access) []map[string][]string {
	switch want {
	case accessNone, accessSigned:
		return nil
	case accessSandbox, accessInbox, accessInspect:
		return []map[string][]string{{"sandbox": {}}, {"key": {}}, {"login": {}}}
	case accessRead, accessWrite, accessAdmin:
	}
	return []map[string][]string{{"key": {}}, {"login": {}}}
}

// finishDocument adds what huma cannot express: which objects may be null, and that its own error model is not used.
func (a *API) finishDocument() {
	a.huma.OpenAPI().Info.Description += "\n\n" + socketText
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	describeEvents(schemas)
	describeObjects(a.huma.OpenAPI())
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	for _, k := range task.Kinds() {
		code := schemas["Problem"].Properties["code"]
		code.Enum = append(code.Enum, k.Kind)
	}
	describeChoices(a.huma.OpenAPI())
	addExamples(a.huma.OpenAPI())
	for _, schema := range schemas {
		if result := schema.Properties["result"]; result != nil && result.Type == "" && result.AnyOf == nil {
			result.AnyOf = []*huma.Schema{{Type: huma.TypeObject, AdditionalProperties: true}, {Type: "null"}}
		}
		for name, property := range schema.Properties {
			if property.Nullable && len(property.Enum) > 0 {
				property.Enum = append(property.Enum, nil)
			}
			if property.Ref != "" && slices.Contains(schema.Required, name) && mayBeNull(name) {
				schema.Properties[name] = &huma.Schema{
					Description: property.Description,
					AnyOf:       []*huma.Schema{{Ref: property.Ref}, {Type: "null"}},
				}
			}
		}
	}
	openAnswers(a.huma.OpenAPI())
}

// describeBody describes the body of a route that decodes its body itself.
func (a *API) describeBody(r route) {
	registry := a.huma.OpenAPI().Components.Schemas
	schema := registry.Schema(reflect.TypeOf(r.says), true, "")
	registry.SchemaFromRef(schema.Ref).AdditionalProperties = true
	for _, op := range operationsOf(a.huma.OpenAPI().Paths[r.path]) {
		if op.Method == r.method {
			op.RequestBody.Content["application/json"].Schema = schema
		}
	}
}

// describeLimit documents the maximum length of a body.
func (a *API) describeLimit(r route) {
	item := a.huma.OpenAPI().Paths[r.path]
	for _, op := range operationsOf(item) {
		if op.Method != r.method || op.RequestBody == nil {
			continue
		}
		op.RequestBody.Description = "At most " + inBytes(cmp.Or(r.body, maxBody)) + ", unpacked"
		if r.transcript > 0 {
			op.RequestBody.Description += "; of agent.completed a transcript comes on top of it, as transcript_b64 in event_data: " +
				inBytes(longestReport) + " with it, of which the newest lines are kept, " + inBytes(a.cfg.MaxTranscript)
		}
	}
}

// mayBeNull reports whether an object may be null in a response.
func mayBeNull(property string) bool {
	return slices.Contains([]string{"pending_command", "salvage", "cost", "diagnosis", "webhook", "forked_from", "question", "test_repeat", "credential_takeover"}, property)
}

func schemaOf[T any](registry huma.Registry) *huma.Schema {
	return registry.Schema(reflect.TypeFor[T](), true, "")
}

func responseOf(registry huma.Registry, status int, body any) *huma.Response {
	if body == nil {
		return &huma.Response{Description: http.StatusText(status)}
	}
	schema := registry.Schema(reflect.TypeOf(body), true, "")
	schema.Nullable = schema.Nullable && schema.Type != huma.TypeArray // see arrayOut
	return &huma.Response{
		Description: http.StatusText(status),
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}
