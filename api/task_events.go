package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

type taskEventsIn struct {
	IDPath
	After string `query:"after" doc:"The next of the page before; a bare <attempt>:<sequence> takes earlier attempts for read; empty: from the beginning. One beyond all that is stored is refused"`
	Wait  string `query:"wait" doc:"Long poll: as 25s"`
	Limit int    `query:"limit" default:"200" minimum:"1" maximum:"1000" doc:"A page ends before that where its events have 8 MiB of data"`
}

// taskEvents returns what a task's sandboxes reported, oldest first. While there is nothing
// new it waits, also for a change of the task's status.
func (a *API) taskEvents(ctx context.Context, in *taskEventsIn) (*bodyOut[client.EventPage], error) {
	after, err := ingest.ParseCursor(in.After)
	if err != nil {
		return nil, err
	}
	wait, err := a.waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	var page client.EventPage
	was := task.Status("")
	err = a.poll(ctx, live.Task(in.ID), wait, func() (bool, error) {
		first := was == ""
		if page, err = a.eventPage(ctx, in, after); first && err == nil {
			err = a.reached(ctx, in, after)
		}
		changed := was != "" && was != page.TaskStatus
		was = page.TaskStatus
		return len(page.Events) > 0 || page.Done || changed, err
	})
	return body(page, err)
}

// eventPage reads the standing before the events: what is stored before a task is done is
// seen before the page says so.
func (a *API) eventPage(ctx context.Context, in *taskEventsIn, after ingest.Cursor) (client.EventPage, error) {
	standing, err := a.deps.Tasks.TaskStatus(ctx, callerOf(ctx).organization, in.ID)
	if err != nil {
		return client.EventPage{}, err
	}
	stored, err := a.deps.EventLog.TaskEventsAfter(ctx, in.ID, after, in.Limit)
	page := client.EventPage{
		Events: append([]client.Event{}, stored.Events...), Next: stored.Next().String(), TaskStatus: standing.Status,
		Done: standing.Status.Final() && standing.Ended && !stored.More,
	}
	return page, err
}
