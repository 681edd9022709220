package api_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

const tasksStream = "/api/v1/tasks/stream"

// changes is what a reader of a list has seen.
type changes struct {
	seenState

	stream *follower
	shown  []client.Task
}

// changes opens a stream of changes and waits until no change is missed.
func (w *world) changes(t *testing.T, query string, headers ...string) *changes {
	t.Helper()
	c := &changes{stream: w.follow(t, tasksStream+query, headers...)}
	t.Cleanup(c.stream.close)
	c.take(c.stream, func() bool { return c.hello.ServerVersion != "" })
	require.Equal(t, "test", c.hello.ServerVersion)
	return c
}

// until reads until a frame holds a task with a title, and returns all tasks that were seen.
func (c *changes) until(title string) []client.Task {
	c.stream.t.Helper()
	n := len(c.versions)
	c.take(c.stream, func() bool {
		if len(c.versions) > n {
			c.shown, n = append(c.shown, c.task), len(c.versions)
		}
		return c.task.Title == title
	})
	require.Equal(c.stream.t, title, c.task.Title, "the stream ended")
	return c.shown
}

// rename changes a task as another process would, which notifies.
func (w *world) rename(id, title string) {
	w.t.Helper()
	w.exec(`UPDATE tasks SET title = $2 WHERE id = $1`, id, title)
	w.bus.Wake(live.Task(id))
}

func titled(title string) client.CreateTaskRequest {
	in := newTask()
	in.Title = title
	return in
}

func TestTasksStream_ShowsEachTaskThatChanges(t *testing.T) {
	t.Parallel()
	w := start(t, rarely)
	old := w.task(titled("Old"))
	c := w.changes(t, "")
	made := w.task(titled("New"))
	require.Equal(t, "New", c.until("New")[0].Title, "the old task did not change")
	w.begin(made)
	w.rename(made.ID, "Running")
	c.until("Running")
	require.Equal(t, task.GroupRunning, c.task.Group)
	require.Empty(t, c.task.Attempts, "as in a list")
	ok[client.Task](w.call(http.MethodPatch, "/api/v1/tasks/"+old.ID, `{"title":"Changed"}`), http.StatusOK)
	c.until("Changed")
	listed := ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks?id="+old.ID, nil), http.StatusOK).Items[0]
	require.Equal(t, listed, c.task)
}

// Versions are times in microseconds: at most four frames of a task are sent in a second, however often it changes.
func TestTasksStream_JoinsChanges(t *testing.T) {
	t.Parallel()
	w := start(t, rarely)
	made := w.task(newTask())
	c := w.changes(t, "")
	for n := range 50 {
		w.rename(made.ID, fmt.Sprintf("Title %d", n))
	}
	w.rename(made.ID, "Last")
	c.until("Last")
	for n := 1; n < len(c.versions); n++ {
		require.GreaterOrEqual(t, c.versions[n]-c.versions[n-1], int64(250_000))
	}
	w.bus.Wake(live.Task(made.ID)) // nothing changed
	w.task(titled("Next"))
	before := len(c.versions)
	c.until("Next")
	require.Len(t, c.versions, before+1)
}

func TestTasksStream_ShowsOnlyTheProject(t *testing.T) {
	t.Parallel()
	w := start(t, rarely)
	project := ok[client.Project](w.call(http.MethodPost, "/api/v1/projects", map[string]string{"name": "Other", "key": "OTH"}), http.StatusCreated)
	c := w.changes(t, "?project_id=OTH")
	w.task(titled("Elsewhere"))
	in := titled("Here")
	in.Repo, in.ProjectID, in.Mode = "", project.ID, "exploration"
	w.task(in)
	require.Len(t, c.until("Here"), 1)
	w.call(http.MethodGet, tasksStream+"?project_id=x", nil).refused(http.StatusUnprocessableEntity, "query.project_id")
}

func TestTasksStream_ShowsNothingOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { rarely(c); c.Open = false })
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	mine, theirs := w.key(w.org, "write"), w.key(other, "write")
	create := func(title, key string) client.Task {
		return ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", titled(title), authorization, key), http.StatusCreated)
	}
	first, own := create("First", mine), create("Own", theirs)
	query := "?project_id=" + first.ProjectID + "&project_id=" + own.ProjectID
	w.call(http.MethodGet, tasksStream+query, nil).refused(http.StatusUnauthorized, "")
	ofMine, ofTheirs, both := w.changes(t, "", authorization, mine), w.changes(t, "", authorization, theirs), w.changes(t, query, authorization, theirs)
	for n := range 2 {
		secret, seen := fmt.Sprintf("Secret %d", n), fmt.Sprintf("Own %d", n)
		w.rename(first.ID, secret)
		ofMine.until(secret)
		w.rename(own.ID, seen)
		require.Equal(t, first.ID, uniqueOf(t, ofMine))
		for _, reader := range []*changes{ofTheirs, both} {
			reader.until(seen)
			require.Equal(t, own.ID, uniqueOf(t, reader))
		}
	}
}

// uniqueOf returns the only task that a reader has seen.
func uniqueOf(t *testing.T, c *changes) string {
	t.Helper()
	for _, shown := range c.shown {
		require.Equal(t, c.task.ID, shown.ID)
	}
	return c.task.ID
}

// A notification may be lost: the server looks itself, and shows what changed, once.
func TestTasksStream_FindsWhatNothingNotified(t *testing.T) {
	t.Parallel()
	w := start(t, often)
	made := w.task(titled("Old"))
	c := w.changes(t, "")
	w.exec(`UPDATE tasks SET title = 'Changed' WHERE id = $1`, made.ID)
	c.until("Changed")
	w.exec(`UPDATE tasks SET title = 'Ended', status = 'failed', sandbox_id = NULL, queued_at = NULL, completed_at = now() WHERE id = $1`, made.ID)
	shown := c.until("Ended")
	for n := 1; n < len(shown); n++ {
		require.NotEqual(t, shown[n-1], shown[n], "a frame is a change")
	}
}

type tasksPort interface{ api.Tasks }

// failing is a store whose lists fail while fails is true.
type failing struct {
	tasksPort

	fails *atomic.Bool
	asked *atomic.Int32
}

func (f failing) Tasks(ctx context.Context, organizationID string, q client.TaskQuery) (client.Page[task.Task], error) {
	f.asked.Add(1)
	if f.fails.Load() {
		return client.Page[task.Task]{}, task.Errorf(task.CodeUnavailable, "The database does not answer.")
	}
	return f.tasksPort.Tasks(ctx, organizationID, q)
}

// What the server could not read while the database failed, the reader reads itself.
func TestTasksStream_SaysThatChangesWereLeftOut(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	var asked atomic.Int32
	w := startWith(t, pgtest.New(t), live.New(), rarely, func(d *api.Deps) { d.Tasks = failing{d.Tasks, &fails, &asked} })
	made := w.task(newTask())
	c := w.changes(t, "")
	fails.Store(true)
	before := asked.Load()
	w.rename(made.ID, "Meanwhile")
	require.Eventually(t, func() bool { return asked.Load() > before }, time.Minute, time.Millisecond)
	fails.Store(false)
	for c.stream.event().event != "reset" { // the change itself may come before
	}
	w.rename(made.ID, "Afterwards")
	c.until("Afterwards")
}

func TestTasksStream_EndsWithTheSession(t *testing.T) {
	t.Parallel()
	w := start(t, impatient)
	id, cookie := w.signIn("read")
	_, of := w.signIn("read")
	page := []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}
	c := w.changes(t, "", page...)
	other := w.changes(t, "", "Cookie", of, "Sec-Fetch-Site", "same-origin")
	require.NoError(t, w.store.RevokeKey(t.Context(), w.org, id))
	c.stream.awaitEnd()
	w.call(http.MethodGet, tasksStream, nil, page...).refused(http.StatusUnauthorized, "")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", titled("Later"), authorization, w.key(w.org, "write")), http.StatusCreated)
	other.until("Later")
	require.Equal(t, made.ID, uniqueOf(t, other), "the other session continues")
}
