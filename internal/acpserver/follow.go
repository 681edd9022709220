package acpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Reasons why a turn ends.
const (
	stopEnd       = "end_turn"
	stopCancelled = "cancelled"
)

const (
	waitQueued  = time.Second      // a task without a running agent has no events
	waitWorking = 20 * time.Second // the server answers when an event arrives
	outageLimit = 2 * time.Minute  // maximum outage of the server
	outagePause = time.Second
	answerLimit = waitWorking + time.Minute // maximum time of a request
)

// follow reports events until the task ends or waits for the user. After a cancel it stops the agent first.
func (s *session) follow(t *turn) (stop string, err error) {
	if err = s.watch(t.untouched, t.sending); !t.cancelled() {
		return stopEnd, err
	}
	defer context.AfterFunc(t.sending, t.stop)()
	key := task.NewID()
	err = s.persist(t.sending, t.sending, func(ctx context.Context) error { return s.halt(ctx, key) })
	if err == nil && s.task() != "" {
		err = s.watch(t.ctx, t.sending)
	}
	if err != nil && (t.sending.Err() != nil || t.ctx.Err() == nil) { // else the next prompt follows the task
		s.said("The task may continue: omoi has not seen the agent stop. Next: omoi ps")
	}
	return stopCancelled, nil
}

// watch delivers prompts and reports events until the task ends or waits for the user, and then says why. sending is the context of
// deliveries, which may finish.
func (s *session) watch(ctx, sending context.Context) error {
	var delay time.Duration
	for rests := false; ; {
		if err := s.persist(ctx, sending, s.deliver); err != nil {
			return err
		}
		page, fresh, err := s.page(ctx, s.task(), delay)
		switch {
		case err != nil:
			return err
		case rests && fresh == 0:
			return s.conclude(ctx)
		case fresh > 0 && !s.waits && page.NextCursor != nil && page.TaskStatus == task.StatusRunning:
			rests, delay = false, waitWorking
			continue
		}
		err = s.persist(ctx, ctx, func(ctx context.Context) (err error) {
			rests, delay, err = s.state(ctx, page.NextCursor == nil)
			return err
		})
		if err == nil && !rests && page.NextCursor == nil { // the server does not wait for events of an ended task
			err = wait.For(ctx, waitQueued)
		}
		if err != nil {
			return err
		}
	}
}

// page reports the events of a task after the last reported one, and returns their number without heartbeats.
func (s *session) page(ctx context.Context, id string, delay time.Duration) (page client.TaskEventList, fresh int, err error) {
	err = s.persist(ctx, ctx, func(ctx context.Context) (err error) {
		page, err = s.api.Events(ctx, id, s.cursor, delay)
		return err
	})
	if err != nil {
		return page, 0, err
	}
	for _, e := range page.Items {
		if e.Sequence > s.seen[e.Attempt] {
			s.seen[e.Attempt] = e.Sequence
			fresh += s.report(e, page.TaskStatus == task.StatusRunning)
		}
	}
	if page.NextCursor != nil {
		s.cursor = *page.NextCursor
	}
	return page, fresh, nil
}

// state reports whether the task has ended or waits for the user, and how long to wait for its next event. last: there are no more
// events unless the task gets another attempt.
func (s *session) state(ctx context.Context, last bool) (rests bool, delay time.Duration, err error) {
	t, err := s.api.Task(ctx, s.task())
	if err != nil {
		return false, 0, err
	}
	over := last && t.Status.Final() && t.PendingCommand == nil
	answered, err := s.answered(ctx, t)
	switch {
	case err != nil:
		return false, 0, err
	case answered && len(s.unsent) == 0 && (over || needsUser(t) && t.PendingCommand == nil):
		return true, 0, nil
	}
	s.explain(t)
	if t.Status == task.StatusRunning && !s.waits && len(s.unsent) == 0 {
		return false, waitWorking, nil
	}
	return false, waitQueued, nil
}

// explain reports why a task has no running agent, once for each reason.
func (s *session) explain(t client.Task) {
	if t.Why != s.why && t.Status != task.StatusRunning && !t.Status.Final() {
		s.why = t.Why
		s.thought("%s", t.Why)
	}
}

// conclude says how a task ended, or what it waits for.
func (s *session) conclude(ctx context.Context) error {
	t, err := s.read(ctx, s.task())
	if err != nil {
		return err
	}
	s.closeCalls()
	name, branch := render.Name(t.Key, t.ID), ""
	if t.Branch != nil {
		branch = " Branch: " + *t.Branch + "."
	}
	switch {
	case t.Status == task.StatusCompleted && t.PullURL != nil:
		s.said("Task %s is completed.%s Pull request: %s", name, branch, *t.PullURL)
	case t.Status == task.StatusCompleted:
		s.said("Task %s is completed.%s Next: omoi checkout %[1]s", name, branch)
	case t.Status.Final():
		s.said("%s Your next prompt retries the task. Next: omoi why %s", t.Why, name)
	case t.Blocked == task.BlockedQuestion:
		s.said("The task is suspended for this question: your next prompt answers it. Next: omoi why %s", name)
	case t.Status != task.StatusRunning:
		s.said("%s Next: omoi why %s", t.Why, name)
	case s.last == "":
		s.said("The agent waits for your message.")
	}
	return nil
}

// read returns a task.
func (s *session) read(ctx context.Context, id string) (t client.Task, err error) {
	err = s.persist(ctx, ctx, func(ctx context.Context) (err error) {
		t, err = s.api.Task(ctx, id)
		return err
	})
	return t, err
}

// persist repeats a request that the server does not answer for less than [outageLimit]. sending is the context of the request. Without
// a task there is nothing to wait for.
func (s *session) persist(ctx, sending context.Context, do func(context.Context) error) error {
	for down := (time.Time{}); ; {
		err := limited(sending, do)
		if task.CodeOf(err) != task.CodeUnavailable || ctx.Err() != nil || s.task() == "" && task.NotSent(err) {
			return err
		}
		if down.IsZero() {
			down = time.Now()
			s.thought("The server does not answer; omoi acp retries. The task is not affected.")
		}
		if time.Since(down) > outageLimit {
			return err
		}
		if err := wait.For(ctx, outagePause); err != nil {
			return err
		}
		_ = s.connect() // omoi dev may have another address after its restart
	}
}

// limited cuts requests that the server does not answer.
func limited(ctx context.Context, do func(context.Context) error) error {
	limit, done := context.WithTimeout(ctx, answerLimit)
	defer done()
	err := do(limit)
	if err != nil && limit.Err() != nil && ctx.Err() == nil {
		return task.Errorf(task.CodeUnavailable, "The server did not answer within %s. Next: omoi doctor", answerLimit).WithCause(err)
	}
	return err
}

// replay reports all tasks of the session from the beginning, and reports whether the last one is open.
func (s *session) replay(ctx context.Context) (open bool, err error) {
	if open = s.Open != nil; open {
		s.chunk(userChunk, s.Open.Text)
	}
	for i, id := range s.Tasks {
		t, err := s.read(ctx, id)
		if task.CodeOf(err) == task.CodeNotFound {
			err = fmt.Errorf("no session or task has the ID %s. Next: omoi ps", id)
		}
		if err != nil {
			return false, err
		}
		s.Tasks[i] = t.ID
		s.restart()
		text := t.Description
		if i > 0 {
			text = strings.TrimPrefix(feedback.Revised(text), review.Opening)
		}
		s.chunk(userChunk, strings.TrimSpace(text))
		if err := s.history(ctx, t.ID); err != nil {
			return false, err
		}
		if open = !t.Status.Final(); !open && i == len(s.Tasks)-1 {
			return false, s.conclude(ctx)
		}
	}
	return open, nil
}

// history reports the events that a task has.
func (s *session) history(ctx context.Context, id string) error {
	for {
		page, _, err := s.page(ctx, id, 0)
		if err != nil || page.NextCursor == nil || len(page.Items) == 0 {
			return err
		}
	}
}
