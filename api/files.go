package api

import (
	"context"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

// Review compares the files of a task.
type Review interface {
	Point(ctx context.Context, t task.Task, name string) (review.Point, error)
	Changes(ctx context.Context, t task.Task, from, to review.Point) (review.Changes, error)
	Diff(ctx context.Context, t task.Task, from, to review.Point, q review.DiffQuery) (review.FileDiff, error)
	File(ctx context.Context, t task.Task, at review.Point, q review.FileQuery) (review.File, error)
}

// Limits of comparisons, which leave room for other requests.
const (
	mostComparing = 2  // at once
	mostWaiting   = 64 // different ones, also outlines and searches of events
	compareLimit  = 5 * time.Minute
)

// comparison is what callers can ask for at the same time.
type comparison struct {
	task     string
	from, to review.Point
	diff     review.DiffQuery
	file     review.FileQuery
}

// comparisons coalesce equal requests for files.
type comparisons struct {
	changes *shared[comparison, review.Changes]
	diffs   *shared[comparison, review.FileDiff]
	files   *shared[comparison, review.File]
}

func (a *API) newComparisons() comparisons {
	slots := make(chan struct{}, mostComparing)
	return comparisons{
		waiting[review.Changes](a, slots), waiting[review.FileDiff](a, slots), waiting[review.File](a, slots),
	}
}

func waiting[V any](a *API, slots chan struct{}) *shared[comparison, V] {
	s := newShared[comparison, V](a.log)
	s.slots, s.limit, s.most = slots, compareLimit, mostWaiting
	return s
}

const (
	pointDoc    = "A point is base (where the branch starts), the number of an attempt (its commit, or its newest checkpoint), a checkpoint such as 2.14, or latest (the newest files, of a commit or a checkpoint). "
	slowCompare = "The first comparison of a large repository continues after a 503 timeout: repeat the request."
)

func (a *API) registerFiles() {
	tasks := a.group(tagTasks, "/api/v1/tasks/{id}")
	with := func(more string) details {
		return details{more: more + " " + pointDoc + slowCompare, packed: true, also: map[int]any{http.StatusNotModified: nil}, fails: []int{http.StatusGone, http.StatusConflict}}
	}
	add(tasks.on(accessRead, "GET /changes", "get-changes", "Get changed files"), a.getChanges,
		with("Files that differ between two points of a task."))
	add(tasks.on(accessRead, "GET /changes/diff", "get-file-diff", "Get the diff of a file"), a.fileDiff,
		with("Lines that differ in one file of the list of changes, at most 2,000 lines or 512 KiB from an offset."))
	add(tasks.on(accessRead, "GET /file", "get-file", "Get a file"), a.getFile,
		with("A piece of the text of a file at a point."))
}

// ComparedPath names two points of a task.
type ComparedPath struct {
	IDPath
	From  string `query:"from" default:"base" maxLength:"30" doc:"Point of the older files."`
	To    string `query:"to" default:"latest" maxLength:"30" doc:"Point of the newer files."`
	Known string `header:"If-None-Match" doc:"ETag of an earlier response. If the content is the same, the answer is 304 without a body."`
}

// historyOut is a response that clients may keep.
type historyOut[T any] struct {
	Status int
	HistoryHeaders
	Body T
}

// history returns the response with content; final: it never changes. known is the ETag that the client has.
func history[T any](content T, final bool, known string) (*historyOut[T], error) {
	out := &historyOut[T]{Status: http.StatusOK, Body: content}
	err := out.kept(content, final)
	if err == nil && out.ETag == known {
		out.Status = http.StatusNotModified
	}
	return out, err
}

func (a *API) getChanges(ctx context.Context, in *ComparedPath) (*historyOut[client.Changes], error) {
	t, of, err := a.compared(ctx, in)
	if err != nil {
		return nil, err
	}
	found, err := a.comparing.changes.ask(ctx, of, func(ctx context.Context, of comparison) (review.Changes, error) {
		return a.deps.Review.Changes(ctx, t, of.from, of.to)
	})
	if err != nil {
		return nil, err
	}
	return history(found, of.from.Final && of.to.Final, in.Known)
}

// compared reads the task and the points of a comparison.
func (a *API) compared(ctx context.Context, in *ComparedPath) (t task.Task, of comparison, err error) {
	if t, err = a.readTask(ctx, in.ID); err != nil {
		return t, of, err
	}
	of.task = t.ID
	if of.from, err = a.point(ctx, t, "from", in.From); err == nil {
		of.to, err = a.point(ctx, t, "to", in.To)
	}
	return t, of, err
}

// point returns a point of a task. It never changes if its name is that of the request.
func (a *API) point(ctx context.Context, t task.Task, field, name string) (review.Point, error) {
	p, err := a.deps.Review.Point(ctx, t, name)
	if task.CodeOf(err) == task.CodeInvalid {
		return p, task.Invalid(field, "%s", task.MessageOf(err))
	}
	p.Final = p.Final && p.Name == name
	return p, err
}

type fileDiffIn struct {
	ComparedPath
	Path       string `query:"path" required:"true" minLength:"1" maxLength:"4096" doc:"Path of the file, as the list of changes has it."`
	Context    int    `query:"context" default:"3" minimum:"0" maximum:"10000" doc:"Number of lines around each change."`
	Whitespace string `query:"whitespace" default:"show" enum:"show,ignore" doc:"ignore: lines that differ in white space only count as equal."`
	Offset     int    `query:"offset" default:"0" minimum:"0" maximum:"100000000" doc:"Number of lines of the difference to skip: next_offset of the page before."`
}

func (a *API) fileDiff(ctx context.Context, in *fileDiffIn) (*historyOut[client.FileDiff], error) {
	t, of, err := a.compared(ctx, &in.ComparedPath)
	if err != nil {
		return nil, err
	}
	of.diff = review.DiffQuery{Path: in.Path, Context: in.Context, IgnoreSpace: in.Whitespace == "ignore", Offset: in.Offset}
	found, err := a.comparing.diffs.ask(ctx, of, func(ctx context.Context, of comparison) (review.FileDiff, error) {
		return a.deps.Review.Diff(ctx, t, of.from, of.to, of.diff)
	})
	if err != nil {
		return nil, err
	}
	return history(found, of.from.Final && of.to.Final, in.Known)
}

type getFileIn struct {
	IDPath
	At     string `query:"at" default:"latest" maxLength:"30" doc:"Point of the files."`
	Path   string `query:"path" required:"true" minLength:"1" maxLength:"4096" doc:"The file to read, from the root of the repository, for example cmd/main.go."`
	Offset int    `query:"offset_bytes" default:"0" minimum:"0" maximum:"2000000000" doc:"Where to begin, in bytes."`
	Limit  int    `query:"limit_bytes" default:"65536" minimum:"4" maximum:"1048576" doc:"Maximum number of bytes; a character is never cut."`
	Known  string `header:"If-None-Match" doc:"ETag of an earlier response. If the content is the same, the answer is 304 without a body."`
}

func (a *API) getFile(ctx context.Context, in *getFileIn) (*historyOut[client.File], error) {
	t, err := a.readTask(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	of := comparison{task: t.ID, file: review.FileQuery{Path: in.Path, Offset: in.Offset, Limit: in.Limit}}
	if of.to, err = a.point(ctx, t, "at", in.At); err != nil {
		return nil, err
	}
	found, err := a.comparing.files.ask(ctx, of, func(ctx context.Context, of comparison) (review.File, error) {
		return a.deps.Review.File(ctx, t, of.to, of.file)
	})
	if err != nil {
		return nil, err
	}
	return history(found, of.to.Final, in.Known)
}
