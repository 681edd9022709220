package taskcmd

import (
	"context"
	"errors"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	waitQueued  = time.Second      // a task without a running agent has no events
	waitWorking = 20 * time.Second // the server answers when an event arrives
	outageLimit = 2 * time.Minute  // maximum outage of the server
	outagePause = time.Second
)

// follower prints the events of a task and keeps its position.
type follower struct {
	*session

	api    *client.Client
	lines  *render.Lines
	id     string
	cursor string // cursor behind the last printed page
	seen   int    // number of events so far
	quiet  bool   // print nothing
	begun  int    // newest attempt with an event
	why    string
	down   time.Time
	queues string // last printed message about task queues without a worker
}

// follow prints events until the task ends or waits for a user. An outage of the server of up to two minutes does not
// end it.
func (f *follower) follow(ctx context.Context) error {
	delay := time.Duration(0)
	for {
		page, err := f.api.Events(ctx, f.id, f.cursor, delay)
		if err != nil {
			if err = f.outage(ctx, err); err != nil {
				return err
			}
			continue
		}
		f.down = time.Time{}
		if err := f.print(page); err != nil || page.NextCursor == nil {
			return err
		}
		if delay, err = f.pace(ctx, page); err != nil || delay == 0 {
			return err
		}
	}
}

// pace returns how long the next request may wait for events; 0 means that the task waits for a user.
func (f *follower) pace(ctx context.Context, page client.TaskEventList) (time.Duration, error) {
	if len(page.Items) > 0 || page.TaskStatus == task.StatusRunning {
		return waitWorking, nil
	}
	t, err := f.api.Task(ctx, f.id)
	if err != nil {
		return 0, f.outage(ctx, err)
	}
	if !t.Status.Final() {
		f.explain(t)
		f.unattended(ctx)
	}
	if needsUser(t) {
		return 0, nil
	}
	return waitQueued, nil
}

// explain prints why a task waits, once for each reason. If the agent has reported events, explain does not print that
// its attempt starts: status and events arrive independently.
func (f *follower) explain(t client.Task) {
	if t.Why == f.why || f.quiet || *f.JSON || t.Status == task.StatusAssigned && f.begun >= t.AttemptCount {
		return
	}
	f.why = t.Why
	f.say("%s", f.lines.Line(time.Now(), f.lines.Dim(string(t.Status)), shortWhy(t)))
}

// unattended prints once that a task queue has no worker.
func (f *follower) unattended(ctx context.Context) {
	if f.quiet {
		return
	}
	if detail := down(ctx, f.api, "workers"); detail != "" && detail != f.queues {
		f.queues = detail
		f.note("%s", render.OneLine(detail, 500))
	}
}

// down returns the message of the server about an unreachable dependency; empty if the dependency is up.
func down(ctx context.Context, api *client.Client, dependency string) string {
	ready, _ := api.Ready(ctx)
	for _, d := range ready.Dependencies {
		if d.Name == dependency && d.State == client.StateDown {
			return d.Detail
		}
	}
	return ""
}

// needsUser reports whether a task continues only after an action of a user.
func needsUser(t client.Task) bool {
	return t.Status == task.StatusPending &&
		(t.Blocked == task.BlockedSuspended || task.GroupOf(t.Status, t.Blocked) == task.GroupNeedsYou)
}

func (f *follower) print(page client.TaskEventList) error {
	for _, e := range page.Items {
		f.seen, f.begun = f.seen+1, max(f.begun, e.Attempt)
		switch {
		case f.quiet:
		case *f.JSON:
			if err := f.printLine(e); err != nil {
				return err
			}
		default:
			for _, line := range f.lines.Event(e) {
				f.say("%s", line)
			}
		}
	}
	if page.NextCursor != nil {
		f.cursor = *page.NextCursor
	}
	return nil
}

// outage waits and returns nil if the server is unreachable for less than [outageLimit]. Otherwise outage returns err.
func (f *follower) outage(ctx context.Context, err error) error {
	if task.CodeOf(err) != task.CodeUnavailable || ctx.Err() != nil {
		return err
	}
	if f.down.IsZero() {
		f.down = time.Now()
		f.note("The server does not answer; retrying. The task is not affected.")
	}
	if time.Since(f.down) > outageLimit {
		return err
	}
	return wait.For(ctx, outagePause)
}

// outcome returns the exit code of a task as an error; nil if the task is completed.
func outcome(t client.Task) error {
	switch {
	case t.Status == task.StatusCompleted:
		return nil
	case t.FailureClass == task.ClassBudget, t.Blocked == task.BlockedBudget:
		return exit.With(exit.Budget, nil)
	case t.FailureClass == task.ClassCredentials, needsUser(t):
		return exit.With(exit.NeedsYou, nil)
	}
	return exit.With(exit.Failed, nil)
}

// stopped returns exit code 130 after an interrupt or timeout, and prints the command that continues.
func (f *follower) stopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	next := "omoi logs -f " + f.lines.Task
	if f.cursor != "" {
		next += " --after " + f.cursor
	}
	f.note("The task continues. Next: %s (or omoi cancel %s)", next, f.lines.Task)
	if errors.Is(context.Cause(ctx), errWaited) {
		return exit.With(exit.Interrupted, errWaited) // not exit code 1: the task has not failed
	}
	return exit.With(exit.Interrupted, nil)
}

var errWaited = errors.New("the task has not ended within --wait-timeout")
