package api

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// EventLog reads the events of sandboxes and tasks in order.
type EventLog interface {
	EventsAfter(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.StoredEvent, error)
	TaskEventsAfter(ctx context.Context, taskID string, after ingest.Cursor, limit int) (ingest.TaskPage, error)
	// SandboxHead returns the last sequence of a sandbox, TaskHeads that of each attempt.
	SandboxHead(ctx context.Context, sandboxID string) (int64, error)
	TaskHeads(ctx context.Context, taskID string) (map[int]int64, error)
	// EventsKept returns [task.CodeGone] if retention removed the events of a sandbox.
	EventsKept(ctx context.Context, sandboxID string) error
}

const eventStream = "text/event-stream"

// streamText describes what all streams share.
const streamText = "Server-sent events: stored events first, then new ones, each once and in order. Comments every 15 s show that " +
	"the stream is open. Control frames: `reset` (the cursor is unknown, all events follow), `end` (the task is done and " +
	"its sandboxes are deleted, or 10 minutes have passed since), `error` (a problem with status and detail ends the stream). "

func (a *API) registerStreams() {
	sandboxes := a.group(tagSandboxes, "/api/v1/sandboxes")
	tasks := a.group(tagTasks, "/api/v1/tasks")
	add(sandboxes.on(accessInspect, "GET /{sandbox_id}/stream", "sandbox-stream", "Stream events"),
		a.sandboxStream, details{
			more: streamText + "The id of an event is its sequence.", text: eventStream,
		})
	add(tasks.on(accessRead, "GET /{id}/stream", "stream-task-events", "Stream a task's events"), a.taskStream, details{
		more: streamText + "The stream has the events of all attempts; the id of an event is a cursor over all of them.",
		text: eventStream, fails: []int{http.StatusGone},
	})
	add(tasks.on(accessRead, "GET /stream", "stream-tasks", "Stream changes of tasks"), a.tasksStream, details{
		more: tasksStreamText, text: eventStream, frames: []any{client.ChangedTask{}, client.TasksHello{}},
	})
}

// Resuming is the cursor of a stream.
type Resuming struct {
	LastEventID string `header:"Last-Event-Id" doc:"The id of the last event that the reader has; wins over after"`
	After       string `query:"after" doc:"The id of the last event that the reader has; empty: from the beginning"`
}

func (r Resuming) place() string { return cmp.Or(r.LastEventID, r.After) }

type sandboxStreamIn struct {
	SandboxPath
	Resuming
}

func (a *API) sandboxStream(ctx context.Context, in *sandboxStreamIn) (*huma.StreamResponse, error) {
	var after int64
	if text := in.place(); text != "" {
		var ok bool
		if after, ok = ingest.ParseEventID(in.SandboxID, text); !ok {
			return nil, task.InvalidCursor("after")
		}
	}
	organization, taskID, err := a.deps.Identities.SandboxOwner(ctx, in.SandboxID)
	if err != nil && (!a.cfg.Open || task.CodeOf(err) != task.CodeNotFound) {
		return nil, err // without authentication, unknown sandbox IDs are accepted, so a reader may wait for their events
	}
	after, lost, err := a.placeIn(ctx, in, after)
	if err != nil {
		return nil, err
	}
	f := feed{
		kind: kindSandbox, lost: lost, topic: live.Sandbox(in.SandboxID), access: accessInspect,
		id: func(e ingest.StoredEvent) string { return strconv.FormatInt(e.Sequence, 10) },
	}
	f.read = func(ctx context.Context) (stretch, error) {
		found, err := a.eventsAfter(ctx, in.SandboxID, after)
		if n := len(found.events); n > 0 {
			after = found.events[n-1].Sequence
		}
		return found, err
	}
	f.done = func(context.Context) (bool, error) { return false, nil }
	if taskID != "" {
		f.topic, f.done = live.Task(taskID), a.taskDone(organization, taskID)
	}
	return a.stream(f), nil //nolint:contextcheck // the context of the request comes with the body
}

// placeIn returns where a stream of a sandbox begins. A cursor beyond the last event is returned as lost, with from 0.
// [task.CodeGone] if retention removed the events after the cursor.
func (a *API) placeIn(ctx context.Context, in *sandboxStreamIn, after int64) (from int64, lost string, err error) {
	head, err := a.deps.EventLog.SandboxHead(ctx, in.SandboxID)
	switch {
	case err != nil:
		return after, "", err
	case after > head:
		after, lost = 0, clip(in.place())
	}
	if after < head {
		err = a.deps.EventLog.EventsKept(ctx, in.SandboxID)
	}
	return after, lost, err
}

// placeOf is placeIn for the stream of a task.
func (a *API) placeOf(
	ctx context.Context, in *taskStreamIn, after ingest.Cursor,
) (from ingest.Cursor, lost string, err error) {
	far, err := a.beyondTask(ctx, in.ID, after)
	if far {
		after, lost = ingest.Cursor{}, clip(in.place())
	}
	if err == nil {
		_, err = a.deps.EventLog.TaskEventsAfter(ctx, in.ID, after, 1)
	}
	return after, lost, err
}

// eventsAfter returns the next events of a sandbox. Concurrent readers at the same cursor share one query.
func (a *API) eventsAfter(ctx context.Context, sandboxID string, after int64) (stretch, error) {
	return a.looks.ask(ctx, place{sandboxID, after}, func(ctx context.Context, at place) (stretch, error) {
		events, err := a.deps.EventLog.EventsAfter(ctx, at.id, at.after, streamBatch)
		return stretch{events, len(events) == streamBatch}.light(), err
	})
}

type taskStreamIn struct {
	IDPath
	Resuming
	State bool `query:"state" doc:"true: all frames have names. hello comes first; task and sandbox hold these objects whole, now and after each change; event holds an event with its texts cut to 2 KiB. Default false."`
}

func (a *API) taskStream(ctx context.Context, in *taskStreamIn) (*huma.StreamResponse, error) {
	after, err := ingest.ParseCursor("after", in.place())
	if err != nil {
		return nil, err
	}
	done := a.taskDone(callerOf(ctx).organization, in.ID)
	if _, err := done(ctx); err != nil {
		return nil, err
	}
	after, lost, err := a.placeOf(ctx, in, after)
	if err != nil {
		return nil, err
	}
	f := feed{kind: kindTask, lost: lost, topic: live.Task(in.ID), access: accessRead, done: done}
	if in.State {
		if f.state, err = a.newStateFeed(ctx, tenantTask{callerOf(ctx).organization, in.ID}); err != nil {
			return nil, err
		}
	}
	shown := after
	f.id = func(e ingest.StoredEvent) string {
		shown = shown.Past(e)
		return shown.String()
	}
	f.read = func(ctx context.Context) (stretch, error) {
		page, err := a.taskEventsAfter(ctx, in.ID, after)
		if err == nil {
			shown, after = page.From, page.Next()
		}
		return stretch{page.Events, page.More}, err
	}
	return a.stream(f), nil //nolint:contextcheck // the context of the request comes with the body
}

// taskEventsAfter returns the next events of a task. Concurrent readers at the same cursor share one query.
func (a *API) taskEventsAfter(ctx context.Context, taskID string, after ingest.Cursor) (ingest.TaskPage, error) {
	return a.taskLooks.ask(ctx, taskPlace{taskID, after}, func(ctx context.Context, at taskPlace) (ingest.TaskPage, error) {
		page, err := a.deps.EventLog.TaskEventsAfter(ctx, at.id, at.after, streamBatch)
		light := stretch{page.Events, page.More}.light()
		page.Events, page.More = light.events, light.more
		return page, err
	})
}

// taskDone returns a function that reports whether a task is final and its sandboxes report no more events.
func (a *API) taskDone(organization, id string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		standing, err := a.standings.ask(ctx, tenantTask{organization, id}, func(ctx context.Context, of tenantTask) (client.Standing, error) {
			return a.deps.Tasks.TaskStatus(ctx, of.organization, of.id)
		})
		return standing.Status.Final() && standing.Silent, err
	}
}

// beyondTask reports whether a cursor is beyond the newest event of an attempt. A reader that continued there would
// wait for events and miss those before the cursor.
func (a *API) beyondTask(ctx context.Context, taskID string, after ingest.Cursor) (bool, error) {
	if after == (ingest.Cursor{}) {
		return false, nil
	}
	heads, err := a.deps.EventLog.TaskHeads(ctx, taskID)
	return err == nil && !after.Within(heads), err
}

// reached returns [task.KindInvalidCursor] for a cursor beyond the last event: a cursor of another server, or of a
// database that was restored from a backup. Streams send the frame reset instead.
func (a *API) reached(ctx context.Context, in *taskEventsIn, after ingest.Cursor) error {
	far, err := a.beyondTask(ctx, in.ID, after)
	if far {
		return task.InvalidCursor("cursor")
	}
	return err
}

// knownCursor returns the sequence of the event that a cursor names; 0 if no such event can be stored here.
func (a *API) knownCursor(ctx context.Context, sandboxID, cursor string) (int64, error) {
	sequence, ok := ingest.ParseEventID(sandboxID, cursor)
	if !ok || sequence == 0 {
		return 0, nil
	}
	head, err := a.deps.EventLog.SandboxHead(ctx, sandboxID)
	if err != nil || sequence > head {
		return 0, err
	}
	return sequence, nil
}
