package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

type taskEventsIn struct {
	IDPath
	Cursor string `query:"cursor" maxLength:"2000" doc:"next_cursor of the previous page, or <attempt>:<sequence>, which counts earlier attempts as read. Empty: from the beginning."`
	Wait   string `query:"wait" doc:"Long poll: maximum time to wait for an event or a change of status, for example 25s or 25; default 0"`
	Limit  int    `query:"limit" default:"200" minimum:"1" maximum:"1000" doc:"Maximum number of events; a page ends earlier once its events have 8 MiB of data"`
}

// taskEvents returns the events of a task, oldest first. If there is no new event, it waits for one, or for a change of
// the task's status.
func (a *API) taskEvents(ctx context.Context, in *taskEventsIn) (*bodyOut[client.TaskEventList], error) {
	after, err := ingest.ParseCursor("cursor", in.Cursor)
	if err != nil {
		return nil, err
	}
	wait, err := a.waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	var page client.TaskEventList
	was := task.Status("")
	err = a.poll(ctx, live.Task(in.ID), wait, func() (bool, error) {
		first := was == ""
		if page, err = a.eventPage(ctx, in, after); first && err == nil {
			err = a.reached(ctx, in, after)
		}
		changed := was != "" && was != page.TaskStatus
		was = page.TaskStatus
		return len(page.Items) > 0 || page.NextCursor == nil || changed, err
	})
	return body(page, err)
}

// eventPage reads the status before the events, so that the last page has every event stored before the end.
func (a *API) eventPage(ctx context.Context, in *taskEventsIn, after ingest.Cursor) (client.TaskEventList, error) {
	standing, err := a.deps.Tasks.TaskStatus(ctx, callerOf(ctx).organization, in.ID)
	if err != nil {
		return client.TaskEventList{}, err
	}
	stored, err := a.deps.EventLog.TaskEventsAfter(ctx, in.ID, after, in.Limit)
	page := client.TaskEventList{Items: append([]client.Event{}, stored.Events...), TaskStatus: standing.Status}
	if !standing.Status.Final() || !standing.Ended || stored.More {
		page.NextCursor = new(stored.Next().String())
	}
	return page, err
}
