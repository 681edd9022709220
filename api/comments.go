package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// FollowUps creates tasks that continue completed ones.
type FollowUps interface {
	// ContinueTask creates a task with the settings, the branch and the pull request of a completed task, whose agent gets text.
	// [task.CodeConflict] if another task continues that work already.
	ContinueTask(ctx context.Context, taskID string, by task.NewTask, text string) (task.Accepted, error)
	// FollowUpOfKey returns the task that an earlier request with the idempotency key of by created; Repeated is false if there is none.
	// [task.CodeConflict] if its text was another one.
	FollowUpOfKey(ctx context.Context, taskID string, by task.NewTask) (task.Accepted, error)
	// CommandOfKey returns the command with feedback that an earlier request with an idempotency key sent. [task.CodeConflict] if its
	// text was another one.
	CommandOfKey(ctx context.Context, taskID, key, text string) (task.Command, bool, error)
}

func (a *API) registerComments() {
	tasks := a.group(tagTasks, "/api/v1/tasks/{id}")
	add(tasks.on(accessWrite, "POST /comments", "comment-task", "Send review comments"), a.commentTask, details{
		more: "Gives comments on lines to the agent, all at once: as one message to a running agent; as the feedback of a verdict while the " +
			"work waits for one, or of a retry after the task failed or was cancelled; after completion as a new task that continues branch and " +
			"pull request. 202: the command is under way; 201: the new task. 409 if no agent can get them now. Nothing is stored, except a message to an " +
			"agent that no longer listens: message_id names the rejected message, also of a 410 after the deletion of the sandbox. 429 if 1,000 messages wait.",
		also:  map[int]any{http.StatusAccepted: client.CommentsResult{}, http.StatusCreated: client.CommentsResult{}},
		fails: []int{http.StatusGone, http.StatusTooManyRequests},
	})
}

type commentTaskIn struct {
	IDPath
	Key  string `header:"Idempotency-Key" doc:"The same key and body reach an agent once, also if the task has another state by then; another body is refused with 409. At most 255 characters; default: no key."`
	Body client.Comments
}

func (a *API) commentTask(ctx context.Context, in *commentTaskIn) (*madeOut[client.CommentsResult], error) {
	if err := checkIdempotencyKey(in.Key); err != nil {
		return nil, err
	}
	text, err := in.Body.Message()
	if err != nil {
		return nil, err
	}
	t, err := a.readTask(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	c := comments{a, t, in, text}
	if out, repeated, err := c.repeated(ctx); repeated || err != nil {
		return out, err
	}
	switch {
	case t.Status == task.StatusCompleted:
		return c.followUp(ctx)
	case t.Status == task.StatusFailed, t.Status == task.StatusCancelled:
		return c.retry(ctx)
	case c.listens():
		return c.message(ctx)
	}
	return c.verdict(ctx)
}

// comments are comments on one task.
type comments struct {
	*API

	task task.Task
	in   *commentTaskIn
	text string
}

// listens reports whether the agent that does the work is running.
func (c comments) listens() bool {
	last := len(c.task.Attempts) - 1
	return last >= 0 && c.task.Attempts[last].EndedAt == nil && c.task.Attempts[last].Kind != task.KindValidation
}

func (c comments) result(delivery string) *madeOut[client.CommentsResult] {
	return &madeOut[client.CommentsResult]{Status: http.StatusOK, Body: client.CommentsResult{Delivery: delivery, Text: c.text, TaskID: c.task.ID}}
}

// repeated returns the result of an earlier request with the key, after which the task may have another agent or have ended. A message
// or command without effect leaves the key free.
func (c comments) repeated(ctx context.Context) (out *madeOut[client.CommentsResult], found bool, err error) {
	if c.in.Key == "" {
		return nil, false, nil
	}
	for _, a := range c.task.Attempts {
		once, err := c.once(a.SandboxID)
		if err != nil {
			return nil, false, err
		}
		sent, found, err := c.deps.Messages.MessageOfKey(ctx, once)
		if found && err == nil {
			return c.told(sent.SandboxID, sent.ID), true, nil
		}
		if !found && err != nil {
			return nil, false, err
		}
	}
	by, err := c.continuing(ctx)
	if err != nil {
		return nil, false, err
	}
	if made, err := c.deps.FollowUps.FollowUpOfKey(ctx, c.task.ID, by); err != nil || made.Repeated {
		return c.continued(made), err == nil, err
	}
	command, found, err := c.deps.FollowUps.CommandOfKey(ctx, c.task.ID, c.in.Key, c.text)
	status := http.StatusOK
	if command.State == task.ReceiptAccepted {
		status = http.StatusAccepted
	}
	return c.asked(command, status), found, err
}

// once returns the idempotency key of a message to a sandbox.
func (c comments) once(sandboxID string) (ingest.MessageKey, error) {
	said := postMessageIn{SandboxPath: SandboxPath{SandboxID: sandboxID}, Key: c.in.Key}
	return said.once("inbox", c.in.Body)
}

func (c comments) message(ctx context.Context) (*madeOut[client.CommentsResult], error) {
	sandboxID := task.Deref(c.task.SandboxID)
	once, err := c.once(sandboxID)
	if err != nil {
		return nil, err
	}
	sent, err := c.say(ctx, ingest.NewMessage{
		SandboxID: sandboxID, Content: c.text, SenderKind: ingest.SenderPerson, SenderID: callerOf(ctx).name, Once: once,
	})
	if err != nil {
		return nil, err
	}
	return c.told(sent.Body.SandboxID, sent.Body.MessageID), nil
}

// told returns the result of a message.
func (c comments) told(sandboxID, messageID string) *madeOut[client.CommentsResult] {
	out := c.result("message")
	out.Location, out.Body.SandboxID, out.Body.MessageID = "/api/v1/messages/"+messageID, sandboxID, messageID
	return out
}

// verdict asks for a revision of work that waits for a verdict.
func (c comments) verdict(ctx context.Context) (*madeOut[client.CommentsResult], error) {
	return c.revision(ctx, task.CommandVerdict, map[string]any{"ok": false, "passed": false, "feedback": c.text})
}

// retry starts another attempt. A task whose work could not be published has none: a retry publishes.
func (c comments) retry(ctx context.Context) (*madeOut[client.CommentsResult], error) {
	if last := len(c.task.Attempts) - 1; last >= 0 && c.task.Attempts[last].FailureClass == task.ClassPublish {
		return nil, task.Errorf(task.CodeConflict, "The work of task %s is done and could not be published, so that no agent gets comments. Next: retry the task, then send them again", c.task.ID).
			WithKind(task.KindInvalidState)
	}
	return c.revision(ctx, task.CommandRetry, map[string]any{"reason": "Review comments", "feedback": c.text})
}

func (c comments) revision(ctx context.Context, kind string, said map[string]any) (*madeOut[client.CommentsResult], error) {
	if c.in.Key != "" {
		said["idempotency_key"] = c.in.Key
	}
	args, err := wireArgs(said)
	if err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	asked, err := c.askAndWait(ctx, task.CommandRequest{
		OrganizationID: who.organization, TaskID: c.task.ID, Kind: kind, Sender: who.name, Args: args,
	})
	if err != nil {
		return nil, err
	}
	return c.asked(asked.Body.Command, asked.Status), nil
}

// asked returns the result of a command.
func (c comments) asked(command task.Command, status int) *madeOut[client.CommentsResult] {
	out := c.result("revision")
	url := "/api/v1/commands/" + command.ID
	out.Status, out.Location, out.Body.Command, out.Body.CommandURL = status, url, &command, url
	return out
}

func (c comments) followUp(ctx context.Context) (*madeOut[client.CommentsResult], error) {
	by, err := c.continuing(ctx)
	if err != nil {
		return nil, err
	}
	made, err := c.deps.FollowUps.ContinueTask(ctx, c.task.ID, by, c.text)
	if err != nil {
		return nil, err
	}
	return c.continued(made), nil
}

// continuing returns who asks for a task that continues this one.
func (c comments) continuing(ctx context.Context) (task.NewTask, error) {
	who := callerOf(ctx)
	hash, err := hashOf([]any{c.task.ID, c.in.Body})
	return task.NewTask{
		OrganizationID: who.organization, UserID: who.user, Sender: who.name, IdempotencyKey: c.in.Key, BodyHash: hash, Trace: traceparent(ctx),
	}, err
}

// continued returns the result of a task that continues this one.
func (c comments) continued(made task.Accepted) *madeOut[client.CommentsResult] {
	out := c.result("task")
	out.Status, out.Location, out.Body.TaskID = http.StatusCreated, "/api/v1/tasks/"+made.TaskID, made.TaskID
	if made.Repeated {
		out.Status = http.StatusOK
	}
	return out
}
