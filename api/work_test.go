package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/task"
)

// keeps stores a text of a task's work and returns its ID.
func (w *world) keeps(t client.Task, kind, content string) string {
	w.t.Helper()
	id, err := w.store.SaveText(w.t.Context(), t.ID, kind, content)
	require.NoError(w.t, err)
	return id
}

// saves records the salvage of a sandbox.
func (w *world) saves(box string, s task.Salvage) {
	w.t.Helper()
	raw, err := json.Marshal(s)
	require.NoError(w.t, err)
	w.exec(`UPDATE sandboxes SET salvage = $2 WHERE id = $1`, box, raw)
}

func (w *world) works(t client.Task, headers ...string) []client.SavedWork {
	w.t.Helper()
	return ok[client.Page[client.SavedWork]](w.call(http.MethodGet, "/api/v1/tasks/"+t.ID+"/saved-work", nil, headers...),
		http.StatusOK).Items
}

func (w *world) getsWork(t client.Task, attempt string) answer {
	w.t.Helper()
	return w.call(http.MethodGet, "/api/v1/tasks/"+t.ID+"/saved-work/"+attempt, nil)
}

// An attempt may leave work on its branch and beside it. Both are listed once, also with pages of one item.
func TestSavedWork_PagesHaveEachItemOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	w.begin(job)
	w.exec(`UPDATE sandboxes SET attempt = 2 WHERE task_id = $1`, job.ID)
	w.exec(`UPDATE attempts SET number = 2, ordinal = 2 WHERE task_id = $1`, job.ID)
	first := w.begin(job)
	w.saves(first, task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/rescue/one", Files: 1})
	w.exec(`UPDATE tasks SET branch_name = 'feature/x', base_commit = 'c0' WHERE id = $1`, job.ID)
	w.exec(`UPDATE attempts SET head_commit = 'c' || number WHERE task_id = $1`, job.ID)
	all := w.works(job)
	require.Len(t, all, 3)
	var read []client.SavedWork
	for cursor := new(""); cursor != nil && len(read) <= len(all); {
		page := ok[client.Page[client.SavedWork]](w.call(http.MethodGet, "/api/v1/tasks/"+job.ID+"/saved-work?limit=1&cursor="+*cursor, nil), http.StatusOK)
		read, cursor = append(read, page.Items...), page.NextCursor
	}
	require.Equal(t, all, read)
}

func TestSavedWork_OfAnAttempt(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	require.Empty(t, w.works(job))
	w.getsWork(job, "1").refused(http.StatusNotFound, "")
	w.getsWork(job, "0").refused(http.StatusUnprocessableEntity, "path.attempt")
	box := w.begin(job)
	require.Empty(t, w.works(job), "it is running")
	w.end(job, task.StatusFailed)
	require.Equal(t, savedwork.Saving, w.works(job)[0].Kind)
	require.Contains(t, w.getsWork(job, "1").refused(http.StatusConflict, "").Detail, "is still being saved")
	w.saves(box, task.Salvage{Kind: task.SalvageNone})
	require.Equal(t, savedwork.None, w.works(job)[0].Kind)
	require.Contains(t, w.getsWork(job, "1").refused(http.StatusNotFound, "").Detail, "left no work")

	now := time.Now().UTC().Truncate(time.Second)
	w.saves(box, task.Salvage{Kind: task.SalvageLost, LostSince: &now})
	require.Equal(t, &now, w.works(job)[0].LostSince)
	w.getsWork(job, "1").refused(http.StatusGone, "")

	w.saves(box, task.Salvage{
		Kind: task.SalvageRef, Ref: "refs/omoi/rescue/x/1", Files: 2, Bytes: 7, Notes: []string{"large"},
	})
	w.exec(`UPDATE tasks SET branch_name = 'feature/x', base_commit = 'c0' WHERE id = $1`, job.ID)
	w.exec(`UPDATE attempts SET head_commit = 'c1' WHERE task_id = $1`, job.ID)
	require.Equal(t, []client.SavedWork{
		{
			Attempt: 1, SandboxID: box, Kind: savedwork.Branch, Ref: "feature/x", Head: "c1",
			Next: "git -C " + goodRepo + " show feature/x",
		},
		{
			Attempt: 1, SandboxID: box, Kind: savedwork.Rescue, Ref: "refs/omoi/rescue/x/1", Files: 2, Bytes: 7,
			Notes: []string{"large"},
			Next:  "git -C " + goodRepo + " show refs/omoi/rescue/x/1",
		},
	}, w.works(job))
	require.Contains(t, w.getsWork(job, "1").refused(http.StatusConflict, "").Detail,
		"no patch of it. Next: git -C "+goodRepo+" show refs/omoi/rescue/x/1")
	w.exec(`UPDATE projects SET repo = 'acme/app'`)
	require.Equal(t, "git fetch origin refs/omoi/rescue/x/1 && git show FETCH_HEAD", w.works(job)[1].Next,
		"a clone knows where that is")
}

// Stored work is returned unchanged, also if it is binary or longer than one piece.
func TestSavedWork_IsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	w.end(job, task.StatusFailed)
	long := strings.Repeat("+ä line of a patch\n", 300_000)
	bytes := strings.Repeat("\x00\xff\x01", 1_500_001)
	for _, c := range []struct{ kind, stored, named, want string }{
		{"patch", long, savedwork.Patch, long},
		{"patch", "", savedwork.Patch, ""},
		{"patch_base64", base64.StdEncoding.EncodeToString([]byte("a\x00b")), savedwork.Patch, "a\x00b"},
		{"bundle_base64", base64.StdEncoding.EncodeToString([]byte(bytes)), savedwork.Bundle, bytes},
	} {
		w.saves(box, task.Salvage{Kind: task.SalvagePatch, Ref: w.keeps(job, c.kind, c.stored), Files: 1})
		one := w.works(job)[0]
		require.Equal(t, []any{c.named, 1, "omoi work " + job.ID + " --attempt 1 --patch work." + c.named},
			[]any{one.Kind, one.Files, one.Next})
		require.InDelta(t, len(c.want), one.Bytes, 2, "base64 may have two bytes of padding")
		got := w.getsWork(job, "1")
		require.Equal(t, []any{http.StatusOK, "application/octet-stream"}, []any{got.status, got.header.Get("Content-Type")})
		require.True(t, c.want == string(got.body), "%s: %d bytes came of %d", c.kind, len(got.body), len(c.want)) //nolint:testifylint // Equal would print all of it
	}
	w.exec(`DELETE FROM stored_texts`)
	w.getsWork(job, "1").refused(http.StatusNotFound, "")
}

// A text of another task is not found, and neither is a task of another organization.
func TestSavedWork_OfItsTaskOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	mine := []string{authorization, w.key(w.org, "read", "write")}
	job := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), mine...), http.StatusCreated)
	other := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), mine...), http.StatusCreated)
	box := w.begin(job)
	w.end(job, task.StatusFailed)
	w.saves(box, task.Salvage{Kind: task.SalvagePatch, Ref: w.keeps(other, "patch", "theirs")})
	path := "/api/v1/tasks/" + job.ID + "/saved-work"
	w.call(http.MethodGet, path+"/1", nil, mine...).refused(http.StatusNotFound, "")
	elsewhere, err := w.store.EnsureOrganization(t.Context(), "elsewhere")
	require.NoError(t, err)
	for _, way := range []string{path, path + "/1"} {
		w.call(http.MethodGet, way, nil).refused(http.StatusUnauthorized, "")
		w.call(http.MethodGet, way, nil, authorization, w.key(elsewhere, "read")).refused(http.StatusNotFound, "")
	}
}
