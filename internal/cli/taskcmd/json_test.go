package taskcmd_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// schemaOf is what the OpenAPI document says of an object.
type schemaOf struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// TestJSON_IsTheObjectOfTheAPI holds what --json prints to the schema that the OpenAPI document names for it. more are
// fields that a command adds.
func TestJSON_IsTheObjectOfTheAPI(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../api/openapi.json")
	require.NoError(t, err)
	var document struct {
		Components struct {
			Schemas map[string]schemaOf `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(raw, &document))
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	f.boxes = []client.Sandbox{{ID: strings.Repeat("a", 26), TaskID: idA, Provider: "local", State: task.SandboxRunning, CreatedAt: time.Now()}}
	f.keys = []client.APIKey{{ID: idB, Name: "ci"}}
	f.credentials = []client.Credential{{Kind: "github", Scope: "user"}}
	f.works = []client.SavedWork{{Attempt: 1, Kind: "branch"}}
	for _, c := range []struct {
		command, schema string
		more            []string
	}{
		{"ps", "Task", nil},
		{"show -", "Task", []string{"sandboxes", "interventions", "temporal_url", "feedback", "api_url"}},
		{"run x --repo /r", "Task", nil},
		{"why -", "Explanation", nil},
		{"receipt -", "DeletionReceipt", nil},
		{"cancel -", "CommandResult", nil},
		{"retry -", "CommandResult", nil},
		{"sandbox list", "Sandbox", nil},
		{"sandbox show -", "Sandbox", nil},
		{"keys list", "APIKey", nil},
		{"keys create ci", "CreatedAPIKey", nil},
		{"credentials list", "Credential", nil},
		{"work -", "SavedWorkList", nil},
		{"run x --repo /r --dry-run", "CreateTaskRequest", nil},
	} {
		schema, known := document.Components.Schemas[c.schema]
		require.True(t, known, c.schema)
		got := f.omoi(append(strings.Fields(c.command), "--json")...)
		require.Zero(t, got.code, "%s: %s", c.command, got.err)
		fields := firstObject(t, got.out)
		for name := range fields {
			require.True(t, schema.Properties[name] != nil || slices.Contains(c.more, name), "omoi %s --json has %s, %s does not", c.command, name, c.schema)
		}
		for _, name := range schema.Required {
			require.Contains(t, fields, name, "omoi %s --json lacks a field of %s", c.command, c.schema)
		}
	}
}

// firstObject is the object that a command printed, or the first one of a list.
func firstObject(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var all []map[string]json.RawMessage
	if strings.HasPrefix(text, "[") {
		requireJSON(t, text, &all)
		require.NotEmpty(t, all)
		return all[0]
	}
	var one map[string]json.RawMessage
	requireJSON(t, text, &one)
	return one
}
