package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestValidation_EnabledByTaskOrType(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.ValidationRounds, c.ValidatedTypes = true, 2, []string{"hotfix"} })
	project := ok[client.Project](w.call(http.MethodPost, "/api/v1/projects",
		`{"name":"strict","settings":{"validate":true}}`), http.StatusCreated)
	yes, no := true, false
	for name, c := range map[string]struct {
		edit   func(*client.CreateTaskRequest)
		rounds int
	}{
		"nobody":              {func(*client.CreateTaskRequest) {}, 0},
		"the task":            {func(in *client.CreateTaskRequest) { in.Validate = &yes }, 2},
		"its type":            {func(in *client.CreateTaskRequest) { in.TaskType = "hotfix" }, 2},
		"not against its own": {func(in *client.CreateTaskRequest) { in.TaskType, in.Validate = "hotfix", &no }, 0},
		"its project":         {func(in *client.CreateTaskRequest) { in.Repo, in.ProjectID = "", project.ID }, 2},
		"not for words":       {func(in *client.CreateTaskRequest) { in.Repo, in.ProjectID, in.TaskType = "", project.ID, "research" }, 0},
		"without a validator": {func(in *client.CreateTaskRequest) {
			in.Repo, in.ProjectID, in.Agent, in.Provider = "", project.ID, "scripted", "local"
			in.Execution = []byte(`{"script":{"steps":[{"say":"hi"}]}}`)
		}, 0},
		"its own rounds": {func(in *client.CreateTaskRequest) {
			in.Validate, in.Execution = &yes, []byte(`{"validator":{"rounds":5}}`)
		}, 5},
	} {
		in := newTask()
		c.edit(&in)
		require.Equal(t, c.rounds, w.task(in).Rounds, name)
	}
}

func TestValidator_IncompleteConfigurationIsRejected(t *testing.T) {
	t.Parallel()
	w := open(t)
	yes := true
	for field, edit := range map[string]func(*client.CreateTaskRequest){
		"validate": func(in *client.CreateTaskRequest) { in.Mode = "exploration" },
		"execution_config.validator.script": func(in *client.CreateTaskRequest) {
			in.Agent, in.Provider, in.Execution = "scripted", "local", []byte(`{"script":{"steps":[{"say":"hi"}]}}`)
		},
		"execution_config.validator.agent":  func(in *client.CreateTaskRequest) { in.Execution = []byte(`{"validator":{"agent":"scripted"}}`) },
		"execution_config.validator.rounds": func(in *client.CreateTaskRequest) { in.Execution = []byte(`{"validator":{"rounds":11}}`) },
	} {
		in := newTask()
		in.Validate = &yes
		edit(&in)
		w.call(http.MethodPost, "/api/v1/tasks", in).refused(422, "body."+field)
	}
}

// A scripted task already has a script; its validator needs one of its own.
func TestScriptedValidator_RequiresItsOwnScript(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Agent, in.Provider, in.Execution, in.Validate = "scripted", "local", []byte(`{"script":{"steps":[{"say":"hi"}]}}`), new(true)
	res := w.call(http.MethodPost, "/api/v1/tasks", in)
	require.Contains(t, string(res.body), "omoi run --validator-script")
	require.NotContains(t, string(res.body), "example:hello")
}

func TestReview_VerdictOfAUser(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	w.begin(made)
	path := "/api/v1/tasks/" + made.ID + "/verdict"
	w.call(http.MethodPost, path, `{"passed":false}`).refused(422, "body.feedback")
	w.call(http.MethodPost, path, `{"passed":false,"feedback":"add tests","recommendations":["a\u0000b"]}`).
		refused(422, "body.recommendations")
	got := ok[client.CommandResult](w.call(http.MethodPost, path, `{"passed":false,"feedback":"add tests"}`), http.StatusAccepted)
	require.Equal(t, []any{task.CommandVerdict, task.ReceiptAccepted}, []any{got.Command.Kind, got.Command.State})
	again := ok[client.CommandResult](w.call(http.MethodPost, path, `{"passed":false,"feedback":"add tests"}`), http.StatusAccepted)
	require.Equal(t, got.Command.ID, again.Command.ID, "the same verdict is one command")
	p := w.call(http.MethodPost, path, `{"passed":true}`).refused(http.StatusConflict, "")
	require.Contains(t, p.Detail, "Another verdict", "the command in progress asks for a revision")
	w.end(made, task.StatusCancelled)
	w.call(http.MethodPost, path, `{"passed":true}`).refused(http.StatusConflict, "")
	w.call(http.MethodPost, "/api/v1/tasks/"+task.NewID()+"/verdict", `{"passed":true}`).refused(http.StatusNotFound, "")
}
