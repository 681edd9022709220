package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// diagnosis checks that a failure is diagnosed and that the next attempt receives the diagnosis.
func diagnosis() Scenario {
	return Scenario{Name: "diagnosis", Title: "a failure is diagnosed, and the next agent knows", trials: func(k *kit) []trial {
		return []trial{
			{name: "an agent gives up", do: k.givesUp},
			{name: "omoi why says what failed", do: k.explained},
			{name: "its failure is diagnosed", do: k.diagnosed},
			{name: "the next agent gets the diagnosis", do: k.warned},
		}
	}}
}

// givesUp makes the attempt fail with the text of its message.
func (k *kit) givesUp(ctx context.Context) (string, error) {
	if err := k.submit(ctx, "Fail for a reason.", k.waitMessage(), map[string]any{"fail": "{{message}}"}); err != nil {
		return "", err
	}
	if _, err := k.atWork(ctx); err != nil {
		return "", err
	}
	if _, err := k.tell(ctx, k.reason()); err != nil {
		return "", err
	}
	t, err := k.failed(ctx)
	return fmt.Sprintf("Task %s failed (%s).", render.Short(t.ID), t.FailureClass), err
}

// reason returns an error text that is unique to this run.
func (k *kit) reason() string { return "cannot find part " + render.Short(k.newest()) }

func (k *kit) failed(ctx context.Context) (client.Task, error) {
	return k.until(ctx, func(t client.Task) bool { return t.Status == task.StatusFailed && t.PendingCommand == nil })
}

func (k *kit) explained(ctx context.Context) (string, error) {
	found, err := k.API.Why(ctx, k.newest())
	switch {
	case err != nil:
		return "", err
	case found.State != explain.StandsFailed || !strings.Contains(found.Why, k.reason()) || len(found.Evidence) == 0:
		return "", k.wrong("omoi why shows the state %s, with %s: %s", found.State, task.Count(len(found.Evidence), "event"), found.Why)
	}
	return fmt.Sprintf("%s Next: %s", found.Why, found.Next), nil
}

func (k *kit) diagnosed(ctx context.Context) (said string, err error) {
	err = waitUntil(ctx, func() (bool, error) {
		page, err := k.API.Diagnoses(ctx, client.GuardianFilter{TaskID: k.newest(), Limit: 1})
		if err != nil || len(page.Items) == 0 {
			return false, err
		}
		d := page.Items[0]
		if len(d.Evidence) == 0 || d.Evidence[0].SandboxID != k.box {
			return false, k.wrong("The diagnosis names no event of sandbox %s: %s", k.box, d.Summary)
		}
		said = render.OneLine(strings.TrimSpace(d.Summary+" "+d.Cause), 200) //nolint:mnd // a line of text
		return true, nil
	})
	return said, err
}

// warned retries the task. The agent of the next attempt waits for a message and fails with its text; the message is
// the diagnosis.
func (k *kit) warned(ctx context.Context) (string, error) {
	if err := k.askRetry(ctx); err != nil {
		return "", err
	}
	t, err := k.failed(ctx)
	if err != nil {
		return "", err
	}
	if t.ErrorMessage == nil || !strings.Contains(*t.ErrorMessage, k.reason()) {
		return "", k.wrong("The agent of attempt %d received %q instead of the diagnosis.", t.AttemptCount, text(t.ErrorMessage))
	}
	return fmt.Sprintf("The agent of attempt %d received the diagnosis.", t.AttemptCount), nil
}
