package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// Commands stores commands on tasks.
type Commands interface {
	AskTask(ctx context.Context, a task.CommandRequest) (task.CommandResult, error)
	Command(ctx context.Context, organizationID, id string) (task.Command, error)
}

const maxReason = 2000 // bytes

// ask returns the handler of cancel, fail and retry.
func (a *API) ask(kind string) handler[changeIn[*client.ReasonRequest], madeOut[client.CommandResult]] {
	return func(ctx context.Context, in *changeIn[*client.ReasonRequest]) (*madeOut[client.CommandResult], error) {
		reason := ""
		if in.Body != nil {
			reason = in.Body.Reason
		}
		return a.askFor(ctx, task.CommandRequest{TaskID: in.ID, Kind: kind, Reason: reason})
	}
}

// rewindTask records a rewind as a retry from a checkpoint.
func (a *API) rewindTask(ctx context.Context, in *changeIn[client.RewindRequest]) (*madeOut[client.CommandResult], error) {
	if _, err := checkpoint.ParseID(in.Body.Checkpoint); err != nil {
		return nil, err
	}
	return a.askFor(ctx, task.CommandRequest{
		TaskID: in.ID, Kind: task.CommandRetry, Checkpoint: in.Body.Checkpoint, AfterAttempt: in.Body.AfterAttempt, Reason: in.Body.Reason,
	})
}

// askFor gives a command in the name of the caller.
func (a *API) askFor(ctx context.Context, ask task.CommandRequest) (*madeOut[client.CommandResult], error) {
	if err := checkText("reason", ask.Reason, maxReason); err != nil {
		return nil, err
	}
	said := map[string]any{"reason": ask.Reason}
	if ask.Checkpoint != "" {
		said["checkpoint"] = ask.Checkpoint
	}
	if trace := traceparent(ctx); trace != "" {
		said["traceparent"] = trace
	}
	var err error
	if ask.Args, err = wireArgs(said); err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	ask.OrganizationID, ask.Sender = who.organization, who.name
	return a.askAndWait(ctx, ask)
}

// askAndWait accepts a command and waits briefly for its outcome; the status 202 means that it is still running.
func (a *API) askAndWait(ctx context.Context, ask task.CommandRequest) (*madeOut[client.CommandResult], error) {
	asked, err := a.give(ctx, ask)
	if err != nil {
		return nil, err
	}
	command, err := a.awaitOutcome(ctx, ask.OrganizationID, asked.Command)
	if err != nil {
		return nil, err
	}
	if command.State == task.ReceiptTooLate || command.State == task.ReceiptRefused {
		return nil, cameToNothing(command)
	}
	t, err := a.readTask(ctx, ask.TaskID)
	if err != nil {
		return nil, err
	}
	url := "/api/v1/commands/" + command.ID
	out := &madeOut[client.CommandResult]{
		Status: http.StatusOK, Location: url, Body: client.CommandResult{Task: t, Command: command, CommandURL: url},
	}
	if command.State == task.ReceiptAccepted {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// give accepts a command. If a task to retry seems to be running, give checks whether its workflow was ended outside of
// omoi. In that case it closes the task and retries the task in the same request.
func (a *API) give(ctx context.Context, ask task.CommandRequest) (task.CommandResult, error) {
	asked, err := a.deps.Commands.AskTask(ctx, ask)
	if task.CodeOf(err) != task.CodeConflict || ask.Kind != task.CommandRetry || a.deps.WriteOff == nil {
		return asked, err
	}
	if off, looked := a.deps.WriteOff(ctx, ask.TaskID); looked != nil || !off {
		return asked, err // unknown counts as running
	}
	return a.deps.Commands.AskTask(ctx, ask)
}

// awaitOutcome polls the command until it is settled or the wait is over.
func (a *API) awaitOutcome(ctx context.Context, organization string, c task.Command) (task.Command, error) {
	quick := patience{wait: a.cfg.CommandWait, every: a.cfg.CommandPoll}
	err := a.poll(ctx, live.Task(c.TaskID), quick, func() (bool, error) {
		found, err := a.deps.Commands.Command(ctx, organization, c.ID)
		if err == nil {
			c = found
		}
		return c.State != task.ReceiptAccepted, err
	})
	return c, err
}

// cameToNothing returns the error of a command that was not applied.
func cameToNothing(c task.Command) error {
	how := "was rejected"
	if c.State == task.ReceiptTooLate {
		how = "came too late"
	}
	return task.Errorf(task.CodeConflict, "The %s of task %s %s: %s.", c.Kind, c.TaskID, how, strings.TrimSuffix(c.Reason, ".")).WithKind(task.KindInvalidState)
}
