package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// spawn is about the sandbox alone: it is made, runs commands, and has the environment that agents are promised.
func spawn() Scenario {
	return Scenario{Name: "spawn", Title: "a sandbox is made, runs commands, and goes", trials: func(k *kit) []trial {
		return []trial{
			{name: "the server answers", do: k.ready},
			{name: "a sandbox is made", do: k.spawned},
			{name: "commands run in it", do: k.commands},
			{name: "it has the environment of its task", do: k.environment},
			{name: "its task ends", do: k.completes},
		}
	}}
}

// Commands of the script, as they stand in events.
const (
	commandTools = `echo "sum $((6*7))"; python3 -c 'print("python")' 2>/dev/null || true; node -e 'console.log("node")' 2>/dev/null || true`
	commandEnv   = `echo "task=$TASK_ID sandbox=$SANDBOX_ID user=$USER_ID"`
)

func (k *kit) spawned(ctx context.Context) (string, error) {
	if err := k.submit(ctx, "Show that a sandbox can be made.", bash(commandTools), bash(commandEnv), k.waitMessage(), complete("done")); err != nil {
		return "", err
	}
	t, err := k.atWork(ctx)
	if err != nil {
		return "", err
	}
	box, err := k.API.Sandbox(ctx, k.box)
	if err == nil && box.TaskID != t.ID {
		err = k.wrong("The ledger says that sandbox %s belongs to %q.", k.box, box.TaskID)
	}
	return fmt.Sprintf("%s Isolation: %s.", where(t), strings.Join(box.Isolation, ", ")), err
}

func (k *kit) commands(ctx context.Context) (string, error) {
	said, err := k.printed(ctx, commandTools)
	if err != nil {
		return "", err
	}
	lines := strings.Fields(said)
	if len(lines) < 2 || lines[0] != "sum" || lines[1] != "42" {
		return "", k.wrong("The shell in the sandbox printed %q, not \"sum 42\".", said)
	}
	return "A shell computes; also there: " + orNone(lines[2:]) + ".", nil
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "neither python3 nor node"
	}
	return strings.Join(words, ", ")
}

func (k *kit) environment(ctx context.Context) (string, error) {
	said, err := k.printed(ctx, commandEnv)
	if err != nil {
		return "", err
	}
	t, err := k.API.Task(ctx, k.newest())
	if err != nil {
		return "", err
	}
	if want := fmt.Sprintf("task=%s sandbox=%s user=%s", t.ID, k.box, t.UserID); strings.TrimSpace(said) != want {
		return "", k.wrong("The sandbox says %q, not %q.", said, want)
	}
	return "TASK_ID, SANDBOX_ID and USER_ID are those of the task.", nil
}

// printed is what a command of the script has printed.
func (k *kit) printed(ctx context.Context, command string) (string, error) {
	all, err := k.events(ctx)
	if err != nil {
		return "", err
	}
	results := history(all).printed(func(c string) bool { return c == command })
	if len(results) == 0 {
		return "", k.wrong("No event tells what the command %q printed.", command)
	}
	return results[0], nil
}

// completes lets the agent go on that waits for a message, to its end.
func (k *kit) completes(ctx context.Context) (string, error) {
	if _, err := k.tell(ctx, "go on"); err != nil {
		return "", err
	}
	if _, err := k.until(ctx, func(t client.Task) bool { return t.Status == task.StatusCompleted }); err != nil {
		return "", err
	}
	return "Its task is completed.", nil
}

// tell says something to the agent at work, and waits until it has taken that up.
func (k *kit) tell(ctx context.Context, text string) (client.MessageReceipt, error) {
	if err := k.running(); err != nil {
		return client.MessageReceipt{}, err
	}
	queued, err := k.API.SendMessage(ctx, k.box, client.NewMessage{Content: text}, task.NewID())
	if err != nil {
		return client.MessageReceipt{}, err
	}
	return k.settled(ctx, queued.MessageID)
}

// settled waits for the receipt of a message, and wants it to say that the agent has the message.
func (k *kit) settled(ctx context.Context, id string) (client.MessageReceipt, error) {
	for {
		m, err := k.API.Message(ctx, id, pollTime)
		switch {
		case err != nil:
			return m, err
		case m.State == client.MessageTakenUp || m.State == client.MessageAnswered:
			return m, nil
		case m.Settled():
			return m, k.wrong("The message %s is %s: %s", m.ID, m.State, m.Reason)
		}
	}
}
