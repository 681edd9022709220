package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// withoutProgram is an installation on whose hosts no program is installed.
type withoutProgram struct{ here bool }

func (r *withoutProgram) AgentRuntimes(_ context.Context, work task.Work) (all []api.AgentRuntime, err error) {
	for _, agent := range []string{task.AgentClaude, "codex"} {
		found := api.AgentRuntime{Agent: agent}
		if work.Provider == task.ProviderLocal && !r.here {
			found.Missing = []string{"The program of " + agent + " is missing on 1 of 1 hosts. Next: install it."}
		}
		all = append(all, found)
	}
	return all, nil
}

// A task whose agent cannot start is refused before it takes a slot, unless a setup step or an image may bring the program.
func TestTaskOfACodingAgent_IsRefusedWithoutItsProgram(t *testing.T) {
	t.Parallel()
	w := startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true }, func(d *api.Deps) { d.Runtimes = &withoutProgram{} })
	in := client.CreateTaskRequest{Repo: goodRepo, Title: "x", Agent: "codex"}
	refused := w.call(http.MethodPost, "/api/v1/tasks", in).refused(http.StatusConflict, "")
	require.Equal(t, task.KindNoAgent, refused.Code)
	require.Equal(t, "Cannot start the agent codex: The program of codex is missing on 1 of 1 hosts. Next: install it.", refused.Detail)
	require.Zero(t, w.count(`SELECT count(*) FROM tasks`))
	require.Equal(t, []string{"The program of codex is missing on 1 of 1 hosts. Next: install it."}, w.preview(in).Missing)

	setup := in
	setup.Execution = json.RawMessage(`{"setup":"npm install"}`)
	require.Equal(t, "codex", w.task(setup).Agent)
	docker := in
	docker.Provider = task.ProviderDocker
	require.Equal(t, "codex", w.task(docker).Agent)
	none := in
	none.Execution = json.RawMessage(`{"setup":""}`)
	w.call(http.MethodPost, "/api/v1/tasks", none).refused(http.StatusConflict, "")
}

// The answer of an accepted task was lost, and the program is gone since.
func TestTaskOfACodingAgent_ARepeatIsAnsweredWithTheTask(t *testing.T) {
	t.Parallel()
	runtimes := &withoutProgram{here: true}
	w := startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true }, func(d *api.Deps) { d.Runtimes = runtimes })
	in := client.CreateTaskRequest{Repo: goodRepo, Title: "x", Agent: "codex"}
	first := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, "Idempotency-Key", "once"), http.StatusCreated)
	runtimes.here = false
	again := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, "Idempotency-Key", "once"), http.StatusOK)
	require.Equal(t, first.ID, again.ID)
}
