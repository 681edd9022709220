package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// agentCheck checks that all events of an agent arrive and that the agent receives a message.
func agentCheck() Scenario {
	return Scenario{Name: "agent", Title: "an agent reports, and receives messages", trials: func(k *kit) []trial {
		return []trial{
			{name: "the agent reports in", do: k.reportsIn},
			{name: "it has the environment of its task", do: k.environment},
			{name: "it sends heartbeats", do: k.beats},
			{name: "a message reaches it", do: k.hears},
			{name: "its completion is recorded", do: k.recorded},
			{name: "its events are whole", do: k.whole},
		}
	}}
}

func (k *kit) reportsIn(ctx context.Context) (string, error) {
	script := []map[string]any{say("I am here."), bash(commandEnv), k.waitMessage(), complete("I heard: {{message}}")}
	if err := k.submit(ctx, "Show that an agent reports and hears.", script...); err != nil {
		return "", err
	}
	if _, err := k.heard(ctx, event.AgentStarted, nil); err != nil {
		return "", err
	}
	t, err := k.atWork(ctx)
	if err != nil {
		return "", err
	}
	box, err := k.API.Sandbox(ctx, k.box)
	return fmt.Sprintf("%s Isolation: %s.", where(t), strings.Join(box.Isolation, ", ")), err
}

// commandEnv prints environment variables of the agent.
const commandEnv = `echo "task=$TASK_ID sandbox=$SANDBOX_ID user=$USER_ID"`

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
		return "", k.wrong("The sandbox has the environment %q, expected %q.", said, want)
	}
	return "TASK_ID, SANDBOX_ID and USER_ID are those of the task.", nil
}

// printed returns the output of the first run of a command.
func (k *kit) printed(ctx context.Context, command string) (string, error) {
	all, err := k.events(ctx)
	if err != nil {
		return "", err
	}
	results := all.printed(command)
	if len(results) == 0 {
		return "", k.wrong("No event has the output of the command %q.", command)
	}
	return results[0], nil
}

func (k *kit) beats(ctx context.Context) (string, error) {
	e, err := k.heard(ctx, event.AgentHeartbeat, nil)
	return fmt.Sprintf("Its first heartbeat is event %d.", e.Sequence), err
}

// hears sends the agent a message with the task ID. [kit.recorded] verifies the ID in the result.
func (k *kit) hears(ctx context.Context) (string, error) {
	m, err := k.tell(ctx, "the word is "+k.newest())
	return fmt.Sprintf("The message %s is %s.", render.Short(m.ID), strings.ReplaceAll(m.State, "_", " ")), err
}

func (k *kit) recorded(ctx context.Context) (string, error) {
	t, err := k.completed(ctx)
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(t.Result), k.newest()) {
		return "", k.wrong("The result lacks the text of the message: %s.", render.OneLine(string(t.Result), 200))
	}
	e, err := k.heard(ctx, event.AgentCompleted, nil)
	if err != nil {
		return "", err
	}
	var said struct {
		Success bool `json:"success"`
	}
	if json.Unmarshal(e.Data, &said) != nil || !said.Success {
		return "", k.wrong("Event %d reports that the agent failed.", e.Sequence)
	}
	return fmt.Sprintf("Event %d is its completion, with the word that it was told; the task is completed.", e.Sequence), nil
}

func (k *kit) whole(ctx context.Context) (string, error) {
	i, err := k.API.Integrity(ctx, k.box)
	switch {
	case err != nil:
		return "", err
	case !i.Gapless || i.LastSequence == 0:
		return "", k.wrong("The last sequence is %d, %d events are stored, with %d gaps.", i.LastSequence, i.Stored, len(i.Gaps))
	}
	return fmt.Sprintf("1..%d are stored, each once.", i.LastSequence), nil
}

// completes sends the message for which the agent waits, and waits for completion.
func (k *kit) completes(ctx context.Context) (string, error) {
	if _, err := k.tell(ctx, "go on"); err != nil {
		return "", err
	}
	_, err := k.completed(ctx)
	return "Its task is completed.", err
}

// tell sends a message to the running agent and waits until the agent acknowledges it.
func (k *kit) tell(ctx context.Context, text string) (client.MessageReceipt, error) {
	queued, err := k.API.SendMessage(ctx, k.box, client.CreateMessageRequest{Content: text}, task.NewID())
	if err != nil {
		return client.MessageReceipt{}, err
	}
	return k.settled(ctx, queued.MessageID)
}

// settled waits until the agent has acknowledged a message. Any other final state is an error.
func (k *kit) settled(ctx context.Context, id string) (client.MessageReceipt, error) {
	for {
		m, err := k.API.Message(ctx, id, pollTime)
		switch {
		case err != nil:
			return m, err
		case m.State == client.MessageAcknowledged || m.State == client.MessageAnswered:
			return m, nil
		case m.Settled():
			return m, k.wrong("The message %s is %s: %s", m.ID, m.State, m.Reason)
		}
	}
}
