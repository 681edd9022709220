package api_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// files is a comparison service with one changed file.
type files struct {
	text  atomic.Value
	asked atomic.Int64
	hold  chan struct{} // answers wait for it; nil: they do not
	err   error
	seen  atomic.Value // the last query
}

func (f *files) Point(_ context.Context, t task.Task, name string) (review.Point, error) {
	switch name {
	case "base", "1.1":
		return review.Point{Name: name, Commit: strings.Repeat("a", 40), Final: true}, nil
	case "latest":
		return review.Point{Name: "1.2", Checkpoint: "1.2", Commit: strings.Repeat("b", 40), Attempt: 1, Sequence: 7, Final: true}, nil
	case "9":
		return review.Point{}, task.Errorf(task.CodeNotFound, "Task %s has no attempt 9.", t.ID).WithKind(task.KindNoFiles)
	}
	return review.Point{}, task.Errorf(task.CodeInvalid, "Invalid point %q: expected another one.", name)
}

func (f *files) content() string {
	text, _ := f.text.Load().(string)
	return text
}

func (f *files) answer() error {
	f.asked.Add(1)
	if f.hold != nil {
		<-f.hold
	}
	return f.err
}

func (f *files) change() review.FileChange {
	return review.FileChange{Path: "a.txt", Status: "modified", OldMode: "100644", NewMode: "100644", Additions: new(1), Deletions: new(0), OldBytes: new(int64(1))}
}

func (f *files) Changes(_ context.Context, t task.Task, from, to review.Point) (review.Changes, error) {
	return review.Changes{
		Compared: review.Compared{TaskID: t.ID, From: from, To: to}, TotalFiles: 1, Files: []review.FileChange{f.change()},
	}, f.answer()
}

func (f *files) Diff(_ context.Context, t task.Task, from, to review.Point, q review.DiffQuery) (review.FileDiff, error) {
	f.seen.Store(q)
	return review.FileDiff{Compared: review.Compared{TaskID: t.ID, From: from, To: to}, File: f.change(), Hunks: []review.Hunk{
		{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []string{"-x", "+" + f.content()}, Cut: []review.CutLine{}},
	}}, f.answer()
}

func (f *files) File(_ context.Context, t task.Task, at review.Point, q review.FileQuery) (review.File, error) {
	return review.File{TaskID: t.ID, At: at, Path: q.Path, Text: f.content()}, f.answer()
}

// comparing starts a server with a comparison service, and returns the path of a task.
func comparing(t *testing.T, f *files) (w *world, path string) {
	t.Helper()
	f.text.Store("one")
	w = startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true }, func(d *api.Deps) { d.Review = f })
	return w, "/api/v1/tasks/" + w.task(newTask()).ID
}

func TestFiles_WireForm(t *testing.T) {
	t.Parallel()
	f := &files{}
	w, path := comparing(t, f)
	list := ok[client.Changes](w.call(http.MethodGet, path+"/changes", nil), http.StatusOK)
	require.Equal(t, []string{"base", "1.2"}, []string{list.From.Name, list.To.Name})
	require.Equal(t, f.change(), list.Files[0])
	q := url.Values{"path": {"a.txt"}, "from": {"1.1"}, "context": {"20"}, "whitespace": {"ignore"}, "offset": {"2000"}}
	diff := ok[client.FileDiff](w.call(http.MethodGet, path+"/changes/diff?"+q.Encode(), nil), http.StatusOK)
	require.Equal(t, []string{"-x", "+one"}, diff.Hunks[0].Lines)
	require.Equal(t, review.DiffQuery{Path: "a.txt", Context: 20, IgnoreSpace: true, Offset: 2000}, f.seen.Load())
	file := ok[client.File](w.call(http.MethodGet, path+"/file?path=a.txt&at=1.1", nil), http.StatusOK)
	require.Equal(t, []string{"one", "1.1"}, []string{file.Text, file.At.Name})
}

func TestFiles_Refusals(t *testing.T) {
	t.Parallel()
	f := &files{}
	w, path := comparing(t, f)
	for query, location := range map[string]string{
		"/changes?from=x": "query.from", "/changes?to=HEAD": "query.to", "/changes/diff": "query.path", "/changes/diff?path=": "query.path",
		"/changes/diff?path=a&context=10001": "query.context", "/changes/diff?path=a&whitespace=x": "query.whitespace", "/file?path=a&at=x": "query.at",
	} {
		w.call(http.MethodGet, path+query, nil).refused(http.StatusUnprocessableEntity, location)
	}
	require.Equal(t, task.KindNoFiles, w.call(http.MethodGet, path+"/changes?from=9", nil).refused(http.StatusNotFound, "").Code)
	w.call(http.MethodGet, "/api/v1/tasks/"+task.NewID()+"/changes", nil).refused(http.StatusNotFound, "")
	for _, c := range []struct {
		kind   task.Kind
		status int
	}{
		{task.KindPathNotFound, http.StatusNotFound},
		{task.KindDamaged, http.StatusConflict},
		{task.KindCommitMissing, http.StatusConflict},
		{task.KindFilesTooLarge, http.StatusConflict},
		{task.KindDataRemoved, http.StatusGone},
		{task.KindOverloaded, http.StatusServiceUnavailable},
	} {
		f.err = task.Errorf(client.CodeOf(c.status), "The reason is this.").WithKind(c.kind)
		require.Equal(t, c.kind, w.call(http.MethodGet, path+"/file?path=a", nil).refused(c.status, "").Code)
	}
}

func TestFiles_OfTheOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := startWith(t, pgtest.New(t), live.New(), func(*api.Config) {}, func(d *api.Deps) { d.Review = &files{} })
	mine := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, w.key(w.org, "write")), http.StatusCreated)
	tenant, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	box := w.begin(mine)
	for _, path := range []string{"/changes", "/changes/diff?path=a", "/file?path=a"} {
		path = "/api/v1/tasks/" + mine.ID + path
		w.call(http.MethodGet, path, nil, authorization, w.key(tenant, "admin")).refused(http.StatusNotFound, "")
		w.call(http.MethodGet, path, nil).refused(http.StatusUnauthorized, "")
		w.call(http.MethodGet, path, nil, authorization, "Bearer "+w.ring.Mint(box)).refused(http.StatusForbidden, "")
	}
}

func TestFiles_ThatNeverChangeMayBeKept(t *testing.T) {
	t.Parallel()
	f := &files{}
	w, path := comparing(t, f)
	pinned := w.call(http.MethodGet, path+"/changes/diff?path=a.txt&from=base&to=1.1", nil)
	require.Equal(t, "private, max-age=86400, immutable", pinned.header.Get("Cache-Control"))
	moving := w.call(http.MethodGet, path+"/changes/diff?path=a.txt", nil)
	require.Equal(t, "private, no-cache", moving.header.Get("Cache-Control"), "latest moves on")
	tag := moving.header.Get("ETag")
	require.Equal(t, http.StatusNotModified, w.call(http.MethodGet, path+"/changes/diff?path=a.txt", nil, "If-None-Match", tag).status)
	f.text.Store("two")
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, path+"/changes/diff?path=a.txt", nil, "If-None-Match", tag).status)
}

// TestFiles_EqualRequestsShareOneComparison asks 20 times while the first comparison is under way.
func TestFiles_EqualRequestsShareOneComparison(t *testing.T) {
	t.Parallel()
	f := &files{hold: make(chan struct{})}
	w, path := comparing(t, f)
	open := sync.OnceFunc(func() { close(f.hold) })
	t.Cleanup(open)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { w.call(http.MethodGet, path+"/changes", nil) })
	}
	require.Eventually(t, func() bool { return f.asked.Load() == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, path, nil).status, "other requests do not wait")
	open()
	all.Wait()
	require.LessOrEqual(t, f.asked.Load(), int64(20)/4)
}

// TestFiles_TooManyComparisons fills all places with different requests.
func TestFiles_TooManyComparisons(t *testing.T) {
	t.Parallel()
	f := &files{hold: make(chan struct{})}
	w, path := comparing(t, f)
	open := sync.OnceFunc(func() { close(f.hold) })
	t.Cleanup(open)
	var all sync.WaitGroup
	refused := make(chan answer, 80)
	for n := range 80 {
		all.Go(func() {
			if a := w.call(http.MethodGet, path+"/file?path=a&offset_bytes="+string(rune('0'+n%10))+string(rune('0'+n/10)), nil); a.status != http.StatusOK {
				refused <- a
			}
		})
	}
	a := <-refused
	require.Equal(t, task.KindOverloaded, a.refused(http.StatusServiceUnavailable, "").Code)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.LessOrEqual(t, f.asked.Load(), int64(2), "at once")
	open()
	all.Wait()
}
