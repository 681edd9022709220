package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	records "github.com/omoi-dev/omoi/internal/guardian"
)

// guardian checks that a looping agent receives a message of the guardian.
func guardian() Scenario {
	return Scenario{Name: "guardian", Title: "an agent that loops receives a message of the guardian", trials: func(k *kit) []trial {
		return []trial{
			{name: "an agent goes round in circles", do: k.circles},
			{name: "the guardian sees it", do: k.seen},
			{name: "it tells the agent", do: k.nudged},
			{name: "the agent has heard it", do: k.received},
		}
	}}
}

// rounds is the number of identical tool calls: above the limit of the guardian's rules.
const rounds = 8

func (k *kit) circles(ctx context.Context) (string, error) {
	var script []map[string]any
	for range rounds {
		script = append(script, bash("cat nowhere"))
	}
	if err := k.submit(ctx, "Read a file that is not there.", append(script, k.waitMessage(), complete("{{message}}"))...); err != nil {
		return "", err
	}
	return k.runningStep(ctx)
}

func (k *kit) seen(ctx context.Context) (string, error) {
	a, err := k.API.Analyze(ctx, k.box, true)
	if err != nil {
		return "", err
	}
	if !a.NeedsSteering {
		return "", k.wrong("The agent made the same call %d times, but the guardian's verdict is %s: %s", rounds, a.Verdict, a.Summary)
	}
	return fmt.Sprintf("By %s it needs steering; evidence: events %s.", a.Source, strings.Trim(fmt.Sprint(a.Evidence), "[]")), nil
}

// nudged finds the intervention that was sent, by the analysis of the step before or by an earlier cycle.
func (k *kit) nudged(ctx context.Context) (string, error) {
	var sent client.Intervention
	err := waitUntil(ctx, func() (bool, error) {
		page, err := k.API.Interventions(ctx, client.GuardianFilter{TaskID: k.newest()})
		for _, iv := range page.Items {
			if iv.State == records.InterventionSent && iv.MessageID != "" {
				sent = iv
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		return "", err
	}
	m, err := k.settled(ctx, sent.MessageID)
	return fmt.Sprintf("A %s, message %s: %s.", sent.Level, render.Short(m.ID), strings.ReplaceAll(m.State, "_", " ")), err
}

func (k *kit) received(ctx context.Context) (string, error) {
	t, err := k.completed(ctx)
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(t.Result), "[GUARDIAN INTERVENTION") {
		return "", k.wrong("The message to the agent is not from the guardian: %s.", render.OneLine(string(t.Result), 200))
	}
	return "Its result is what the guardian told it.", nil
}
