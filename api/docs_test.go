package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
)

// Where documents show JSON: code spans with an object or with members of one, blocks, and arguments of commands.
var (
	jsonSpan  = regexp.MustCompile("`(\\{\"[^`]*\\}|\"[a-z_]+\": [^`]*)`")
	jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)\n```")
	jsonShell = regexp.MustCompile(`(?:-d|say|echo|--input) '(\{.*\})'`)
	shape     = regexp.MustCompile(`^\{"\w+", `) // a list of names is not JSON
	elided    = strings.NewReplacer("{...}", "{}", "[...]", "[]", `'"$TASK"'`, "$TASK")
)

// shown returns the JSON objects in a document.
func shown(t *testing.T, text string) (found []map[string]any) {
	t.Helper()
	for _, form := range []*regexp.Regexp{jsonSpan, jsonBlock, jsonShell} {
		for _, match := range form.FindAllStringSubmatch(text, -1) {
			body := elided.Replace(match[1])
			if shape.MatchString(body) {
				continue
			}
			if body[0] == '"' {
				body = "{" + body + "}"
			}
			var object map[string]any
			require.NoError(t, json.Unmarshal([]byte(body), &object), "%s", match[1])
			found = append(found, object)
		}
	}
	return found
}

// notSent returns the first field names of objects that no client sends to the API: lines of programs, steps of
// scripts, frames of a WebSocket, bodies for the Daytona emulator, signals, input of agents, and settings of editors.
func notSent(name string) bool {
	steps := "say ask think write edit bash sleep_s commit push wait_message usage complete fail verdict iteration " +
		"continuous_complete hang crash exit flood"
	return strings.Contains(" omoi type switch by kind id passed version tool_name agent_servers mcpServers "+steps+" ", " "+name+" ")
}

// TestDocs_RequestBodiesAreAccepted sends each request body in the docs. An unknown object fails the test:
// add its kind here.
func TestDocs_RequestBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open = true })
	files, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	sent := 0
	for _, file := range append(files, "../README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, object := range shown(t, string(text)) {
			if w.sendShown(file, object) {
				sent++
			}
		}
	}
	require.GreaterOrEqual(t, sent, 10, "the documents show more")
}

// sendShown sends an object to the route that has its fields, and reports whether there is one.
func (w *world) sendShown(file string, object map[string]any) bool {
	w.t.Helper()
	has := func(names ...string) bool {
		for _, name := range names {
			if _, found := object[name]; found {
				return true
			}
		}
		return false
	}
	for name := range object {
		if notSent(name) {
			return false
		}
	}
	of := w.task(newTask())
	box := "/api/v1/sandboxes/" + w.begin(of)
	want, method, path := http.StatusOK, http.MethodPost, ""
	switch {
	case has("event_type"):
		path = box + "/events"
	case has("task_id"):
		path, object["task_id"] = box+"/task-complete", of.ID
	case has("content", "message_type"):
		path = box + "/messages"
		if !has("content") {
			object["content"] = "x"
		}
	case has("answer"):
		path = "/api/v1/questions/" + w.asks(of, box) + "/answer"
	case has("settings"):
		method, path = http.MethodPatch, "/api/v1/projects/"+of.ProjectID
	case has("provider", "agent"):
		path, want = "/api/v1/tasks", http.StatusCreated
		object["repo"], object["title"], object["agent"] = goodRepo, "x", "claude"
	case has("steps"):
		object = map[string]any{"repo": goodRepo, "title": "x", "agent": "scripted", "execution_config": map[string]any{"script": object}}
		path, want = "/api/v1/tasks", http.StatusCreated
	case has("command", "setup", "allowed_paths", "reads_messages", "test_command"):
		object = map[string]any{"repo": goodRepo, "title": "x", "agent": "claude", "execution_config": object}
		path, want = "/api/v1/tasks", http.StatusCreated
	}
	require.NotEmpty(w.t, path, "%s shows %v: say in this test where it is sent", file, object)
	got := w.call(method, path, object)
	require.Equal(w.t, want, got.status, "%s shows %v: %s", file, object, got.body)
	return true
}

// asks has the agent of a task ask a question, and returns its ID.
func (w *world) asks(of client.Task, box string) string {
	w.t.Helper()
	ok[map[string]any](w.call(http.MethodPost, box+"/events", `{"event_type":"agent.waiting","event_data":{"question":"Which one?"}}`), http.StatusOK)
	open := ok[client.Page[client.Question]](w.call(http.MethodGet, "/api/v1/questions?state=open&task_id="+of.ID, nil), http.StatusOK)
	require.Len(w.t, open.Items, 1)
	return open.Items[0].ID
}
