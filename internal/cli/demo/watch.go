package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/pause"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	eventWait = 5 * time.Second
	lookEvery = 50 * time.Millisecond
)

// watch prints what happens until the task has ended, and keeps every event.
func (d *demo) watch(ctx context.Context, r *report) error {
	cursor, status := "", task.StatusPending
	for {
		page, err := d.api.Events(ctx, r.Task.ID, cursor, pace(status))
		if err != nil {
			return fmt.Errorf("watch the task: %w", err)
		}
		for _, e := range page.Events {
			for _, line := range d.lines.Event(e) {
				d.say("%s", line)
			}
		}
		r.Events, cursor = append(r.Events, page.Events...), page.Next
		if page.TaskStatus != status {
			status = page.TaskStatus
			d.line("task", string(status))
		}
		if page.Done {
			r.Task, err = d.api.Task(ctx, r.Task.ID)
			return err
		}
		if len(page.Events) == 0 && status != task.StatusRunning {
			if err := pause.For(ctx, lookEvery); err != nil {
				return err
			}
		}
	}
}

// pace waits for events only while there is an agent that could send some.
func pace(status task.Status) time.Duration {
	if status == task.StatusRunning {
		return eventWait
	}
	return 0
}

// collect waits until every sandbox is verified gone, then reads what the report tells.
func (d *demo) collect(ctx context.Context, r *report) error {
	if err := d.gone(ctx, r); err != nil {
		return err
	}
	var err error
	if r.Task, err = d.api.Task(ctx, r.Task.ID); err != nil {
		return err
	}
	if r.History, err = d.History(ctx, d.info, r.Task.ID); err != nil {
		return fmt.Errorf("read the length of the history: %w", err)
	}
	if r.Task.Branch == nil {
		return nil // the facts will say so
	}
	var diff strings.Builder
	if err := d.api.Diff(ctx, r.Task.ID, &diff); err != nil {
		return fmt.Errorf("read the diff: %w", err)
	}
	r.Diff = diff.String()
	if r.Source, err = d.place.branchHolds(ctx, *r.Task.Branch, r.Program.file); err != nil {
		r.Source = ""
	}
	r.Pull = d.place.hasPull(r.Task)
	return nil
}

func (d *demo) gone(ctx context.Context, r *report) error {
	for {
		page, err := d.api.Sandboxes(ctx, client.SandboxFilter{TaskID: r.Task.ID, Limit: 100})
		if err != nil {
			return fmt.Errorf("look at the sandboxes: %w", err)
		}
		r.Sandboxes = page.Items
		if allVerified(page.Items) {
			for _, b := range page.Items {
				d.line("sandbox", render.Short(b.ID)+" is verified gone")
			}
			return nil
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return fmt.Errorf("wait for the sandbox to be gone: %w", err)
		}
	}
}

func allVerified(boxes []client.Sandbox) bool {
	for _, b := range boxes {
		if b.VerifiedAt == nil {
			return false
		}
	}
	return true
}
