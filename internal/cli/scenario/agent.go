package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// agentCheck is about the agent in a sandbox: what it reports arrives whole, and what it is told too.
func agentCheck() Scenario {
	return Scenario{Name: "agent", Title: "an agent beats, reports, and hears", trials: func(k *kit) []trial {
		return []trial{
			{name: "the agent reports in", do: k.reportsIn},
			{name: "it beats", do: k.beats},
			{name: "a message reaches it", do: k.hears},
			{name: "its completion is recorded", do: k.recorded},
			{name: "its events are whole", do: k.whole},
		}
	}}
}

func (k *kit) reportsIn(ctx context.Context) (string, error) {
	if err := k.submit(ctx, "Show that an agent reports and hears.", say("I am here."), k.waitMessage(), complete("I heard: {{message}}")); err != nil {
		return "", err
	}
	if _, err := k.heard(ctx, event.AgentStarted, nil); err != nil {
		return "", err
	}
	t, err := k.atWork(ctx)
	if err != nil {
		return "", err
	}
	return where(t), nil
}

func (k *kit) beats(ctx context.Context) (string, error) {
	e, err := k.heard(ctx, event.AgentHeartbeat, nil)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Its first heartbeat is event %d.", e.Sequence), nil
}

// hears tells the agent something that it can only know from the message.
func (k *kit) hears(ctx context.Context) (string, error) {
	m, err := k.tell(ctx, "the word is "+k.newest())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The message %s is %s.", render.Short(m.ID), strings.ReplaceAll(m.State, "_", " ")), nil
}

func (k *kit) recorded(ctx context.Context) (string, error) {
	t, err := k.until(ctx, func(t client.Task) bool { return t.Status == task.StatusCompleted })
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(t.Result), k.newest()) {
		return "", k.wrong("The agent was told a word, and its result is %s.", render.OneLine(string(t.Result), 200))
	}
	e, err := k.heard(ctx, event.AgentCompleted, nil)
	if err != nil {
		return "", err
	}
	var said struct {
		Success bool `json:"success"`
	}
	if json.Unmarshal(e.Data, &said) != nil || !said.Success {
		return "", k.wrong("Event %d says that the agent failed.", e.Sequence)
	}
	return fmt.Sprintf("Event %d is its completion, with the word that it was told; the task is completed.", e.Sequence), nil
}

func (k *kit) whole(ctx context.Context) (string, error) {
	i, err := k.API.Integrity(ctx, k.box)
	switch {
	case err != nil:
		return "", err
	case !i.Gapless || i.Head == 0:
		return "", k.wrong("Of %d events %d are stored, with %d gaps.", i.Head, i.Stored, len(i.Gaps))
	}
	return fmt.Sprintf("1..%d are stored, each once.", i.Head), nil
}
