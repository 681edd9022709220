package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const previewPath = "/api/v1/tasks/preview"

func (w *world) preview(in client.CreateTaskRequest) client.TaskPreview {
	w.t.Helper()
	return ok[client.TaskPreview](w.call(http.MethodPost, previewPath, in), http.StatusOK)
}

func TestPreviewTask_SaysWhatCreationWouldDo(t *testing.T) {
	t.Parallel()
	w, p := withProgram(t, "")
	p.install(true)
	in := client.CreateTaskRequest{Repo: goodRepo, Description: "Write a file\nwith three lines."}
	got := w.preview(in)
	require.Equal(t, client.TaskPreview{
		Title: "Write a file", Mode: "implementation", Agent: task.AgentClaude, Provider: task.ProviderLocal, Continuous: true, MaxRetries: 3,
		Errors: []client.ProblemDetail{}, Missing: []string{},
		Duplicates: client.DuplicateReport{Message: got.Duplicates.Message, Candidates: []client.Candidate{}, Source: "text"},
	}, got)
	require.Zero(t, w.count(`SELECT count(*) FROM tasks`)+w.count(`SELECT count(*) FROM projects`))

	made := w.task(in)
	require.Equal(t, []any{got.Title, got.Mode, got.Agent, got.Provider, got.Continuous, got.MaxRetries},
		[]any{made.Title, made.Mode, made.Agent, made.Provider, made.Continuous, made.MaxRetries})
	got = w.preview(in)
	require.Equal(t, []string{made.ProjectID, made.ID}, []string{got.ProjectID, got.Duplicates.Candidates[0].TaskID})
	p.install(false)
	in.Agent = task.AgentClaude
	require.Equal(t, []string{"There is no program. Next: install it."}, w.preview(in).Missing)
}

func TestPreviewTask_NamesAllValuesThatCreationRefuses(t *testing.T) {
	t.Parallel()
	w, _ := withProgram(t, "")
	var locations []string
	for _, e := range w.preview(client.CreateTaskRequest{
		Priority: "SOON", DeadlineAt: "tomorrow", Execution: json.RawMessage(`{"script": {"steps": []}}`),
	}).Errors {
		require.NotEmpty(t, e.Message)
		locations = append(locations, e.Location)
	}
	require.Equal(t, []string{"body.title", "body.priority", "body.execution_config.script", "body.deadline_at", "body.repo"}, locations)

	refused := w.preview(client.CreateTaskRequest{Repo: goodRepo, Title: "x"}).Errors
	require.Len(t, refused, 1, "no agent works")
	require.Equal(t, "body.agent", refused[0].Location)
	require.Contains(t, refused[0].Message, "claude: There is no program. Next: install it.")
}

func TestPreviewTask_RefusesWhatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	w := closed(t)
	ours, theirs := w.key(w.org, "write"), w.foreigner()
	in := about("Checkout crashes on an empty cart")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, authorization, ours), http.StatusCreated)
	in.Repo, in.DeadlineAt = "", "2020-01-31T18:00:00Z"
	for field, refer := range map[string]func(*client.CreateTaskRequest){
		"project_id": func(in *client.CreateTaskRequest) { in.ProjectID = made.ProjectID },
		"ticket_id":  func(in *client.CreateTaskRequest) { in.TicketID = made.TicketID },
	} {
		in := in
		refer(&in)
		found := func(key string) (locations []string) {
			got := ok[client.TaskPreview](w.call(http.MethodPost, previewPath, in, authorization, key), http.StatusOK)
			require.Equal(t, key == ours, got.ProjectID == made.ProjectID)
			for _, e := range got.Errors {
				locations = append(locations, e.Location)
			}
			return locations
		}
		require.Equal(t, []string{"body.deadline_at"}, found(ours))
		require.Equal(t, []string{"body." + field, "body.deadline_at"}, found(theirs))
	}
}

func TestPreviewTask_ComparesWithTasksOfTheCallersOrganization(t *testing.T) {
	t.Parallel()
	w := closed(t)
	write, read, stranger := w.key(w.org, "write"), w.key(w.org, "read"), w.foreigner()
	in := about("Checkout crashes on an empty cart")
	ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, authorization, write), http.StatusCreated)
	similar := func(key string) bool {
		return ok[client.TaskPreview](w.call(http.MethodPost, previewPath, in, authorization, key), http.StatusOK).Duplicates.IsDuplicate
	}
	require.True(t, similar(write))
	require.False(t, similar(stranger))
	w.call(http.MethodPost, previewPath, in, authorization, read).refused(http.StatusForbidden, "")
}
