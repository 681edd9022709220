package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestFork_IsATaskLikeItsSource(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := scriptedTask()
	made := w.task(in)
	path := "/api/v1/tasks/" + made.Key + "/fork"
	box := w.begin(made)
	w.checkpoint(box, 1, 0, "one")
	w.checkpoint(box, 2, 1, "two")
	w.call(http.MethodPost, path, `{"checkpoint":"1.3"}`).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, "/api/v1/tasks/"+task.NewID()+"/fork", `{"checkpoint":"1.2"}`).refused(http.StatusNotFound, "")
	for body, field := range map[string]string{
		`{"checkpoint":"1"}`: "body.checkpoint", `{}`: "body", `{"checkpoint":"1.2","agent":"gpt"}`: "body.agent",
		`{"checkpoint":"1.2","agent":"external"}`: "body.agent", `{"checkpoint":"1.2","agent":"command"}`: "body.execution_config.command",
		`{"checkpoint":"1.2","text":"a\u0000"}`: "body.text", `{"checkpoint":"1.2","model":"a\nb"}`: "body.model",
		`{"checkpoint":"1.2","text":"` + strings.Repeat("x", 64<<10) + `"}`: "body.text", `{"checkpoint":"1.2","title":"x"}`: "body.title",
	} {
		w.call(http.MethodPost, path, body).refused(http.StatusUnprocessableEntity, field)
	}

	body := `{"checkpoint":"1.2","text":"Use Redis.","model":"small"}`
	fork := ok[client.Task](w.call(http.MethodPost, path, body, idempotencyKey, "k"), http.StatusCreated)
	require.Equal(t, &task.ForkedFrom{TaskID: made.ID, TaskKey: made.Key, Checkpoint: "1.2", Branches: []string{}}, fork.ForkedFrom)
	require.Equal(t, made.Title, fork.Title)
	require.Equal(t, made.Description+"\n\nWhat is different in this fork of "+made.Key+":\n\nUse Redis.", fork.Description)
	require.Equal(t, []string{made.TicketID, made.Agent, made.Provider, "HIGH"}, []string{fork.TicketID, fork.Agent, fork.Provider, fork.Priority})
	require.JSONEq(t, `{"script":{"steps":[{"say":"hi"}]},"env":{"TOKEN_X":"[redacted]","MODEL":"[redacted]"}}`, string(fork.Execution))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM tasks WHERE id = $1 AND execution_config::text LIKE '%planted-secret%'`, fork.ID))
	again := ok[client.Task](w.call(http.MethodPost, path, body, idempotencyKey, "k"), http.StatusOK)
	require.Equal(t, fork.ID, again.ID)
	p := w.call(http.MethodPost, path, `{"checkpoint":"1.1"}`, idempotencyKey, "k").refused(http.StatusConflict, "header.Idempotency-Key")
	require.Equal(t, task.KindKeyReused, p.Code)
	other := w.task(in)
	p = w.call(http.MethodPost, "/api/v1/tasks/"+other.ID+"/fork", body, idempotencyKey, "k").refused(http.StatusConflict, "header.Idempotency-Key")
	require.Equal(t, task.KindKeyReused, p.Code, "of another task")

	w.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'checkpoints', now())`, box)
	require.Equal(t, task.KindDataRemoved, w.call(http.MethodPost, path, body).refused(http.StatusGone, "").Code)
	w.exec(`DELETE FROM tasks WHERE id = $1`, made.ID)
	listed := ok[client.Page[client.Checkpoint]](w.call(http.MethodGet, "/api/v1/tasks/"+fork.ID+"/checkpoints", nil), http.StatusOK)
	require.Equal(t, "0.2", listed.Items[0].ID)
	pack := w.call(http.MethodGet, "/api/v1/tasks/"+fork.ID+"/checkpoints/0.1/pack", nil)
	require.Equal(t, "one", string(pack.body), "its source is deleted")
	require.NotNil(t, ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+fork.ID, nil), http.StatusOK).ForkedFrom)
}

func scriptedTask() client.CreateTaskRequest {
	in := newTask()
	in.Agent, in.Provider, in.Priority = "scripted", "local", "HIGH"
	in.Execution = []byte(`{"script":{"steps":[{"say":"hi"}]},"env":{"TOKEN_X":"planted-secret"}}`)
	return in
}

func TestFork_OfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	owner := w.key(w.org, "write")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", scriptedTask(), authorization, owner), http.StatusCreated)
	box := w.begin(made)
	w.checkpoint(box, 1, 0, "one")
	tenant, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	path, body := "/api/v1/tasks/"+made.ID+"/fork", `{"checkpoint":"1.1"}`
	w.call(http.MethodPost, path, body, authorization, w.key(tenant, "admin")).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, path, body, authorization, w.key(w.org, "read")).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, path, body).refused(http.StatusUnauthorized, "")
	require.Equal(t, http.StatusCreated, w.call(http.MethodPost, path, body, authorization, owner).status)
}
