package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// mainOperations returns the operations with an example in the document, in an order in which a client can call them.
func mainOperations() []string {
	return []string{
		"create-project", "set-credential", "create-ticket", "create-task", "get-task", "list-task-events", "get-task-receipt",
		"create-event-batch", "send-message", "lease-messages", "explain-task", "update-task", "list-tasks", "cancel-task",
		"get-command", "retry-task",
	}
}

// sample is a file of the folder examples.
type sample struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Status  int    `json:"status"`
	Request any    `json:"request"`
	Answer  any    `json:"answer"`
}

func sampleOf(tb testing.TB, operation string) (s sample) {
	tb.Helper()
	content, err := os.ReadFile("examples/" + operation + ".json")
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(content, &s), operation)
	return s
}

// TestExamples_AreShown expects a request and a response in the document for each main operation.
// [TestOpenAPIDocumentIsValid] validates them.
func TestExamples_AreShown(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, res := range op.Responses.Map() {
				if content := res.Value.Content["application/json"]; content != nil && content.Example != nil {
					shown[op.OperationID] = true
				}
			}
			if body := op.RequestBody; shown[op.OperationID] && body != nil {
				require.NotNil(t, body.Value.Content["application/json"].Example, op.OperationID)
			}
		}
	}
	require.ElementsMatch(t, mainOperations(), slices.Collect(maps.Keys(shown)))
}

// TestExamples_AreTrue sends the request of each example to a server, and expects a response with the same fields.
func TestExamples_AreTrue(t *testing.T) {
	t.Parallel()
	s := &stage{world: openAsUser(t), real: map[string]string{}}
	for _, operation := range mainOperations() {
		s.play(operation)
	}
}

// openAsUser starts a server without authentication whose callers are a user.
func openAsUser(tb testing.TB) *world {
	tb.Helper()
	user := task.NewID()
	w := startOn(tb, pgtest.New(tb), live.New(), func(c *api.Config) { c.Open, c.User = true, user })
	w.exec(`INSERT INTO users (id, organization_id, name) VALUES ($1, $2, 'user')`, user, w.org)
	return w
}

// stage is a server on which the examples run, one after the other.
type stage struct {
	*world

	real map[string]string // IDs on the server, by those of the examples
	ran  client.Task       // the task of create-task, used in most other examples
	open client.Task       // another task, with an active agent
}

func (s *stage) play(operation string) {
	s.t.Helper()
	of := sampleOf(s.t, operation)
	s.prepare(operation, of)
	var body any
	if of.Request != nil {
		content, err := json.Marshal(of.Request)
		require.NoError(s.t, err)
		body = s.translated(string(content))
	}
	got := s.call(of.Method, s.translated(of.Path), body)
	// No workflow runs here, so a command is never applied.
	require.Contains(s.t, []int{of.Status, http.StatusAccepted}, got.status, "%s: %s", operation, got.body)
	var answer any
	require.NoError(s.t, json.Unmarshal(got.body, &answer))
	requireSameFields(s.t, operation, of.Answer, answer)
	s.learn(of.Answer, answer)
	if operation == "create-task" {
		s.ran = ok[client.Task](s.call(http.MethodGet, "/api/v1/tasks/"+answer.(map[string]any)["id"].(string), nil), http.StatusOK)
	}
}

// prepare brings the server into the state in which the example was recorded.
func (s *stage) prepare(operation string, of sample) {
	switch operation {
	case "get-task":
		box := s.begin(s.ran)
		s.real[of.Answer.(map[string]any)["sandbox_id"].(string)] = box
		s.report(box, 1, "agent.started", "heartbeat", "agent.message")
	case "create-event-batch":
		s.open = s.task(client.CreateTaskRequest{ProjectID: s.ran.ProjectID, Title: "Describe the greeting", Agent: task.AgentExternal})
		s.real[strings.Split(of.Path, "/")[4]] = s.begin(s.open)
		s.real[strings.Split(sampleOf(s.t, "explain-task").Path, "/")[4]] = s.open.ID
	case "retry-task":
		s.exec(`UPDATE commands SET state = 'carried_out', settled_at = now() WHERE settled_at IS NULL`)
		s.end(s.open, task.StatusCancelled)
	}
}

// translated replaces the IDs of the examples by those of the server.
func (s *stage) translated(text string) string {
	for example, id := range s.real {
		text = strings.ReplaceAll(text, example, id)
	}
	return text
}

// learn records the IDs of the objects that an example created.
func (s *stage) learn(example, got any) {
	was, isObject := example.(map[string]any)
	if !isObject {
		return
	}
	now := got.(map[string]any)
	if id, found := was["id"].(string); found {
		s.real[id] = now["id"].(string)
	}
	if command, found := was["command"]; found {
		s.learn(command, now["command"])
	}
}

// requireSameFields expects two values of the same form. Null and an empty list match any other value.
func requireSameFields(t require.TestingT, where string, want, got any) {
	if want == nil || got == nil {
		return
	}
	require.IsType(t, want, got, where)
	switch want := want.(type) {
	case map[string]any:
		got := got.(map[string]any)
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)), where)
		for name := range want {
			if !slices.Contains([]string{"event_data", "result", "execution_config", "budget", "settings", "context"}, name) {
				requireSameFields(t, where+"."+name, want[name], got[name])
			}
		}
	case []any:
		if got := got.([]any); len(want) > 0 && len(got) > 0 {
			requireSameFields(t, where+"[0]", want[0], got[0])
		}
	}
}
