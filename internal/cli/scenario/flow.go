package scenario

import (
	"context"
	"fmt"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

// flow checks a ticket whose task is cancelled, retried and completed.
func flow() Scenario {
	return Scenario{Name: "flow", Title: "the task of a ticket is cancelled, retried and completed", trials: func(k *kit) []trial {
		return []trial{
			{name: "the server answers", do: k.ready},
			{name: "a ticket brings its task", do: k.ticketMade},
			{name: "the task is running", do: k.runningStep},
			{name: "a cancel stops it", do: k.cancelled},
			{name: "a retry begins in another sandbox", do: k.retried},
			{name: "the task is completed", do: k.completes},
			{name: "its ticket is done", do: k.ticketDone},
		}
	}}
}

func (k *kit) ticketMade(ctx context.Context) (string, error) {
	project, err := k.project(ctx)
	if err != nil {
		return "", err
	}
	in := client.CreateTicketRequest{ProjectID: project, Description: "Wait to be told to go on."}
	t, err := k.openTicket(ctx, in, k.waitMessage(), complete("{{message}}"))
	return fmt.Sprintf("Ticket %s has task %s.", render.Short(t.ID), render.Short(k.newest())), err
}

// openTicket creates a ticket with a task of the scripted agent. A Ctrl-C does not interrupt the request, so that the
// task is known and cleaned up.
func (k *kit) openTicket(ctx context.Context, in client.CreateTicketRequest, script ...map[string]any) (client.Ticket, error) {
	config, err := execution(ctx, script)
	if err != nil {
		return client.Ticket{}, err
	}
	in.Title, in.ForceCreate = k.title(), true // a concurrent check may have an open duplicate
	in.Task = &client.FirstTask{TaskType: client.TypeCheck, Agent: task.AgentScripted, Provider: k.Provider, MaxRetries: new(int), Execution: config}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	made, err := k.API.CreateTicket(ctx, in)
	k.tasks = append(k.tasks, made.TaskIDs...)
	if err == nil && len(made.TaskIDs) != 1 {
		err = k.wrong("Ticket %s has %d tasks.", made.ID, len(made.TaskIDs))
	}
	return made, err
}

func (k *kit) runningStep(ctx context.Context) (string, error) {
	t, err := k.atWork(ctx)
	return where(t), err
}

func (k *kit) cancelled(ctx context.Context) (string, error) {
	if _, _, err := k.API.Cancel(ctx, k.newest(), "its check stops it"); err != nil {
		return "", err
	}
	t, err := k.until(ctx, func(t client.Task) bool { return t.Status == task.StatusCancelled && t.PendingCommand == nil })
	if err != nil {
		return "", err
	}
	_, _, err = k.gone(ctx, t.ID, verifyTime)
	return fmt.Sprintf("The task is cancelled, and sandbox %s is deleted.", render.Short(k.box)), err
}

func (k *kit) retried(ctx context.Context) (string, error) {
	before := k.box
	if err := k.askRetry(ctx); err != nil {
		return "", err
	}
	t, err := k.atWork(ctx)
	return fmt.Sprintf("Attempt %d is running in sandbox %s, not in %s.", t.AttemptCount, render.Short(k.box), render.Short(before)), err
}

// askRetry retries the newest task and waits until the workflow has applied the command: until then the task shows its
// previous end.
func (k *kit) askRetry(ctx context.Context) error {
	before, err := k.API.Task(ctx, k.newest())
	if err != nil {
		return err
	}
	if _, _, err := k.API.Retry(ctx, before.ID, "its check begins it again"); err != nil {
		return err
	}
	return waitUntil(ctx, func() (bool, error) {
		t, err := k.API.Task(ctx, before.ID)
		return err == nil && (!t.Status.Final() || t.AttemptCount > before.AttemptCount), err
	})
}

func (k *kit) ticketDone(ctx context.Context) (string, error) {
	t, err := k.API.Task(ctx, k.newest())
	if err != nil {
		return "", err
	}
	ticket, err := k.API.Ticket(ctx, t.TicketID)
	switch {
	case err != nil:
		return "", err
	case ticket.Status != "done":
		return "", k.wrong("The only task of ticket %s is completed, but the ticket is %s.", render.Short(ticket.ID), ticket.Status)
	}
	return fmt.Sprintf("Ticket %s is done.", render.Short(ticket.ID)), nil
}
