package scenario

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// e2e checks the whole path from a ticket to a pull request. The agent's program computes a number that no prepared
// answer contains.
func e2e() Scenario {
	return Scenario{Name: "e2e", Title: "a ticket leads to a pull request", trials: func(k *kit) []trial {
		return []trial{
			{name: "the API answers", do: k.ready},
			{name: "its project is found or made", do: k.place},
			{name: "a ticket is made, with its task", do: k.mathTicket},
			{name: "the task is dispatched", do: k.dispatched},
			{name: "its sandbox is spawned", do: k.started},
			{name: "the task is completed", do: k.rightNumber},
		}
	}}
}

func (k *kit) mathTicket(ctx context.Context) (string, error) {
	t, err := k.openTicket(ctx, client.CreateTicketRequest{Repo: k.repo.name, Description: exampleText()}, exampleSteps()...)
	return fmt.Sprintf("Ticket %s, task %s.", render.Short(t.ID), render.Short(k.newest())), err
}

func (k *kit) dispatched(ctx context.Context) (string, error) {
	t, err := k.until(ctx, func(t client.Task) bool { return len(t.Attempts) > 0 })
	if err != nil {
		return "", err
	}
	k.box = t.Attempts[0].SandboxID
	return fmt.Sprintf("Its first attempt has begun on branch %s.", text(t.Branch)), nil
}

func (k *kit) started(ctx context.Context) (string, error) {
	if _, err := k.heard(ctx, event.AgentStarted, nil); err != nil {
		return "", err
	}
	box, err := k.API.Sandbox(ctx, k.box)
	return fmt.Sprintf("Sandbox %s (%s): its agent has reported in.", box.ID, box.Provider), err
}

func (k *kit) rightNumber(ctx context.Context) (string, error) {
	t, err := k.completed(ctx)
	if err != nil {
		return "", err
	}
	number := grouped(expected())
	if !strings.Contains(string(t.Result), number) {
		return "", k.wrong("The result is %s, expected %s.", render.OneLine(string(t.Result), 200), number)
	}
	if t.PullURL == nil {
		return "", k.wrong("The task is completed without a pull request.")
	}
	all, err := k.events(ctx)
	edits := all.edits()
	if err == nil && edits != exampleEdits {
		err = k.wrong("%d file edits have diffs, expected %d.", edits, exampleEdits)
	}
	return fmt.Sprintf("Its program printed %s; %d changes of files came with diffs; the branch is %s, the pull request %s.",
		number, edits, text(t.Branch), explain.PullRequest(t)), err
}

func text(s *string) string { return cmp.Or(task.Deref(s), "none") }
