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

// schemaOf is the schema of an object in the OpenAPI document.
type schemaOf struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// TestJSON_IsTheObjectOfTheAPI compares the output of --json with the schema in the OpenAPI document.
func TestJSON_IsTheObjectOfTheAPI(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	f.tasks[0].Attempts = []task.Attempt{{Number: 1, SandboxID: strings.Repeat("a", 26)}}
	f.boxes = []client.Sandbox{{ID: strings.Repeat("a", 26), TaskID: idA, Provider: "local", State: task.SandboxRunning, CreatedAt: time.Now()}}
	f.keys = []client.APIKey{{ID: idB, Name: "ci"}}
	f.credentials = []client.Credential{{Kind: "github", Scope: "user"}}
	f.works = []client.SavedWork{{Attempt: 1, Kind: "branch"}}
	holdsJSON(t, f, []jsonCase{
		{"ps", "Task", nil},
		{"show -", "Task", []string{"sandboxes", "interventions", "temporal_url", "feedback", "api_url", "contract"}},
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
		{"contract -", "TaskContract", nil},
	})
}

// TestJSON_IsTheObjectOfTheAPI_Installation does the same for projects, tickets, hosts, budgets, organizations and
// supervision.
func TestJSON_IsTheObjectOfTheAPI_Installation(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	project := client.Project{ID: idA, Key: "APP", Name: "app"}
	f.serves(map[string]any{
		"GET /api/v1/projects":                           client.Page[client.Project]{Items: []client.Project{project}},
		"POST /api/v1/projects":                          project,
		"PATCH /api/v1/projects/{id}":                    project,
		"GET /api/v1/projects/{id}/deletion":             client.ProjectDeletion{Project: project},
		"DELETE /api/v1/projects/{id}":                   client.ProjectDeletion{Project: project},
		"POST /api/v1/projects/{id}/pause":               client.PauseResult{Project: project},
		"GET /api/v1/projects/{id}/budget":               client.BudgetUsage{},
		"GET /api/v1/tickets":                            client.Page[client.Ticket]{Items: []client.Ticket{{ID: idB, Key: "APP-T1"}}},
		"GET /api/v1/tickets/{id}":                       client.Ticket{ID: idB, Key: "APP-T1"},
		"GET /api/v1/hosts":                              client.Page[client.Host]{Items: []client.Host{{ID: idC, Name: "h"}}},
		"POST /api/v1/hosts/{id}/mark-lost":              client.Host{ID: idC, Name: "h"},
		"GET /api/v1/organizations":                      client.Page[client.Organization]{Items: []client.Organization{{ID: idA, Name: "o"}}},
		"PATCH /api/v1/organizations/{id}":               client.Organization{ID: idA, Name: "o"},
		"GET /api/v1/monitor/intelligent/status":         client.MonitorStatus{},
		"GET /api/v1/monitor/intelligent/health":         client.MonitorHealth{},
		"GET /api/v1/guardian/ratings":                   client.RatingSummary{},
		"PUT /api/v1/guardian/interventions/{id}/rating": client.Rating{},
		"GET /api/v1/guardian/analyses":                  client.Page[client.GuardianAnalysis]{Items: []client.GuardianAnalysis{{}}},
		"GET /api/v1/conductor/duplicates":               client.Page[client.ConductorDuplicate]{Items: []client.ConductorDuplicate{{}}},
		"GET /api/v1/storage":                            client.Storage{},
		"GET /api/v1/tasks/{id}":                         client.Task{ID: idA, Key: "APP-1"},
	})
	holdsJSON(t, f, []jsonCase{
		{"project list", "Project", nil},
		{"project create --repo /r", "Project", nil},
		{"project update APP --max-concurrent-tasks 2", "Project", nil},
		{"project delete APP --yes", "ProjectDeletion", nil},
		{"project pause APP", "PauseResult", nil},
		{"budget --project APP", "BudgetUsage", nil},
		{"ticket list", "Ticket", nil},
		{"ticket show APP-T1", "Ticket", []string{"tasks"}},
		{"host list", "Host", nil},
		{"host mark-lost h --yes", "Host", nil},
		{"organization list", "Organization", nil},
		{"organization update o --plan pro", "Organization", nil},
		{"guardian status", "MonitorStatus", []string{"health", "ratings"}},
		{"guardian rate " + idA + " right", "GuardianRating", nil},
		{"guardian analyses APP-1", "GuardianAnalysis", nil},
		{"conductor duplicates APP-1", "ConductorDuplicate", nil},
		{"storage", "Storage", nil},
	})
}

// jsonCase is a command, the schema of its output, and the fields that the command adds.
type jsonCase struct {
	command, schema string
	more            []string
}

func holdsJSON(t *testing.T, f *fakeAPI, cases []jsonCase) {
	t.Helper()
	raw, err := os.ReadFile("../../../api/openapi.json")
	require.NoError(t, err)
	var document struct {
		Components struct {
			Schemas map[string]schemaOf `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(raw, &document))
	for _, c := range cases {
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

// firstObject returns the printed object, or the first one of a list.
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
