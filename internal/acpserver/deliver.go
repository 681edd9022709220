package acpserver

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// key returns the idempotency key of the next prompt. A prompt that reached a task in an earlier process, which was killed before it
// kept that, has the same key.
func (s *session) key(text string) string {
	return fmt.Sprintf("acp-%x", sha256.Sum256(fmt.Appendf(nil, "%s %d %s", s.id, s.Prompts+len(s.unsent), text)))
}

// deliver gives unsent prompts to the task. Prompts stay unsent while the task has no agent yet.
func (s *session) deliver(ctx context.Context) error {
	for len(s.unsent) > 0 {
		sent, err := s.give(ctx, s.unsent[0])
		if err != nil || !sent {
			return err
		}
		s.unsent, s.Prompts = s.unsent[1:], s.Prompts+1
		s.keep()
	}
	return nil
}

// give gives a prompt to the task, and reports whether an agent gets it.
func (s *session) give(ctx context.Context, p prompt) (bool, error) {
	if s.task() == "" {
		return true, s.create(ctx, p)
	}
	t, err := s.api.Task(ctx, s.task())
	switch {
	case err != nil:
		return false, err
	case t.Status.Final(), reviewed(t):
		return true, s.comment(ctx, p)
	case works(t):
		return s.tell(ctx, t, p)
	case t.Blocked == task.BlockedQuestion && t.Question != nil:
		return s.settle(ctx, t, p)
	case needsUser(t) && t.PendingCommand == nil:
		return false, s.resume(ctx, t)
	}
	return false, nil
}

// resume retries a suspended task, once for a prompt.
func (s *session) resume(ctx context.Context, t client.Task) error {
	if s.unsent[0].resumed {
		return task.Errorf(task.CodeConflict, "%s Next: omoi why %s", t.Why, render.Name(t.Key, t.ID))
	}
	_, _, err := s.api.Retry(ctx, t.ID, "A user continues in the editor.")
	if err != nil && task.CodeOf(err) != task.CodeConflict {
		return err
	}
	s.unsent[0].resumed = true // after a conflict, the task has another state, or needs more than a retry
	return nil
}

// settle answers the question for which a task is suspended. Its next attempt begins with the answer. If the question was settled
// meanwhile, the prompt stays unsent.
func (s *session) settle(ctx context.Context, t client.Task, p prompt) (bool, error) {
	_, err := s.api.AnswerTask(ctx, t, p.Text)
	if task.KindOf(err) == task.KindQuestionClosed {
		return false, nil
	}
	return err == nil, err
}

// create creates the first task of the session. Until it is known whether the server has created it, the prompt stays open.
func (s *session) create(ctx context.Context, p prompt) error {
	in, err := s.Request(ctx, s.Cwd, p.Text)
	if err != nil {
		return err
	}
	s.Open = &p
	s.keep()
	t, _, err := s.api.CreateTask(ctx, in, p.Key)
	if err != nil && (ctx.Err() != nil || task.CodeOf(err) == task.CodeUnavailable && !task.NotSent(err)) {
		return err
	}
	s.Open = nil
	if err != nil {
		s.keep()
		return err
	}
	s.next(t.ID)
	s.thought("Task %s. Next: omoi show %[1]s", render.Name(t.Key, t.ID))
	return nil
}

// comment gives a prompt to an ended task: a failed or cancelled one gets its next attempt, and a completed one a task that continues
// it. A reviewed one gets a revision. The key differs from that of a message, which has another body.
func (s *session) comment(ctx context.Context, p prompt) error {
	out, _, err := s.api.Comment(ctx, s.task(), client.Comments{Text: p.Text}, p.Key+"-comment")
	if err != nil {
		return err
	}
	switch {
	case out.MessageID != "":
		s.pending, s.own[out.MessageID] = append(s.pending, message{p, out.MessageID}), true
	case out.TaskID != s.task():
		s.next(out.TaskID)
		s.thought("A new task continues the branch. Next: omoi show %s", out.TaskID)
	default:
		s.thought("The next attempt of the task gets your text.")
	}
	return nil
}

// tell sends a prompt to the running agent. An agent that does not listen is about to end: then the ended task gets the prompt.
func (s *session) tell(ctx context.Context, t client.Task, p prompt) (bool, error) {
	sent, err := s.api.SendMessage(ctx, *t.SandboxID, client.CreateMessageRequest{Content: p.Text}, p.Key)
	if code := task.CodeOf(err); code == task.CodeConflict || code == task.CodeGone {
		return false, nil
	}
	if err == nil {
		s.pending, s.own[sent.MessageID] = append(s.pending, message{p, sent.MessageID}), true
		s.thought("Message %s is accepted. Next: omoi message %[1]s", sent.MessageID)
	}
	return err == nil, err
}

// next makes a task the newest one of the session.
func (s *session) next(id string) {
	s.Tasks = append(s.Tasks, id)
	s.restart()
	s.keep()
}

// answered reports whether agents have answered all messages. Of an agent that has ended, a message that it got counts. Messages that no
// agent will read become unsent again, with keys of their own.
func (s *session) answered(ctx context.Context, t client.Task) (bool, error) {
	var open []message
	var unread []prompt
	for _, p := range s.pending {
		m, err := s.api.Message(ctx, p.id, 0)
		switch {
		case err != nil:
			return false, err
		case m.State == client.MessageExpired, m.State == client.MessageRejected:
			unread = append(unread, prompt{Text: p.Text, Key: p.Key + "-again"})
		case m.State != client.MessageAnswered && (!m.Settled() || runsIn(t, m.SandboxID)):
			open = append(open, p)
		}
	}
	s.pending, s.unsent = open, append(unread, s.unsent...)
	return len(open) == 0, nil
}

// runsIn reports whether the agent of a task runs in a sandbox.
func runsIn(t client.Task, sandboxID string) bool {
	return t.Status == task.StatusRunning && task.Deref(t.SandboxID) == sandboxID
}

// halt stops the agent: an interrupt, after which the task waits for the next prompt; without a running agent a cancel, after which a
// prompt retries the task. key is the idempotency key of the interrupt.
func (s *session) halt(ctx context.Context, key string) error {
	s.unsent = nil
	if s.Open != nil && s.held != nil {
		if err := s.create(ctx, *s.Open); err != nil && s.Open != nil {
			return err
		}
	}
	if s.task() == "" {
		return nil
	}
	t, err := s.api.Task(ctx, s.task())
	switch {
	case err != nil || t.Status.Final() || needsUser(t) && (len(s.pending) == 0 || !works(t)):
	case works(t):
		in := client.CreateMessageRequest{Content: "The user stopped you in the editor.", Type: client.MessageInterrupt}
		_, err = s.api.SendMessage(ctx, *t.SandboxID, in, key)
	default:
		_, _, err = s.api.Cancel(ctx, t.ID, "A user stopped the task in the editor.")
	}
	if code := task.CodeOf(err); code == task.CodeConflict || code == task.CodeGone {
		err = nil // the agent has ended
	}
	if err == nil {
		s.pending = nil
	}
	return err
}

// works reports whether the agent that does the work runs.
func works(t client.Task) bool {
	last := len(t.Attempts) - 1
	return t.Status == task.StatusRunning && t.SandboxID != nil && last >= 0 && t.Attempts[last].EndedAt == nil &&
		t.Attempts[last].Kind != task.KindValidation
}

// reviewed reports whether the work waits for a verdict.
func reviewed(t client.Task) bool {
	return t.Status == task.StatusPendingValidation || t.Status == task.StatusValidating || t.Blocked == task.BlockedReview
}

// needsUser reports whether the task continues only after an action of the user.
func needsUser(t client.Task) bool {
	return t.Status == task.StatusPending && t.Blocked == task.BlockedSuspended || t.Group == task.GroupNeedsYou || explain.OutOfBudget(t)
}
