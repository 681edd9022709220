package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// monitoring checks that guardian, conductor and the status routes find a running sandbox.
func monitoring() Scenario {
	return Scenario{Name: "monitoring", Title: "guardian and conductor find an active sandbox", trials: func(k *kit) []trial {
		return []trial{
			{name: "a sandbox task is running", do: k.watched},
			{name: "the monitoring finds its sandbox", alone: true, do: k.withSandbox(k.monitored)},
			{name: "the guardian finds it", alone: true, do: k.withSandbox(k.guarded)},
			{name: "the conductor finds it", alone: true, do: k.withSandbox(k.conducted)},
			{name: "its id leads to its trajectory", alone: true, do: k.withSandbox(k.resolved)},
			{name: "what its agent says is collected", alone: true, do: k.withSandbox(k.collected)},
		}
	}}
}

const commandShow = "echo shown by a check"

func (k *kit) watched(ctx context.Context) (string, error) {
	if err := k.submit(ctx, "Run while omoi is checked.", say("I am watched."), bash(commandShow), k.waitMessage(), complete("done")); err != nil {
		return "", err
	}
	return k.runningStep(ctx)
}

func (k *kit) monitored(ctx context.Context) (string, error) {
	found, err := k.API.SandboxesStatus(ctx)
	if err != nil {
		return "", err
	}
	for _, one := range found.Sandboxes {
		if one.SandboxID == k.box {
			return fmt.Sprintf("It is active; sandboxes active now: %d.", found.Active), nil
		}
	}
	return "", k.wrong("%d active sandboxes are listed, but not %s.", found.Active, k.box)
}

// withSandbox returns a step that is skipped if the first step found no sandbox.
func (k *kit) withSandbox(do func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if k.box == "" {
			return "", skip("", "This check has no active sandbox.")
		}
		return do(ctx)
	}
}

// supervision returns the status of guardian and conductor. The step is skipped if both are switched off.
func (k *kit) supervision(ctx context.Context) (status client.MonitorStatus, err error) {
	err = waitUntil(ctx, func() (bool, error) {
		status, err = k.API.MonitorStatus(ctx)
		return err == nil, err
	})
	if err == nil && !status.Config.Enabled {
		err = skip("omoi worker --set monitoring.enabled=true", "Guardian and conductor are switched off (monitoring.enabled).")
	}
	return status, err
}

// guarded triggers the guardian and waits for its analysis. A key without the scope admin waits for the next scheduled
// cycle.
func (k *kit) guarded(ctx context.Context) (string, error) {
	if _, err := k.supervision(ctx); err != nil {
		return "", err
	}
	if err := k.askToRun(ctx, "guardian"); err != nil && task.CodeOf(err) != task.CodeForbidden {
		return "", err
	}
	var last client.GuardianAnalysis
	err := waitUntil(ctx, func() (bool, error) {
		page, err := k.API.Judgements(ctx, client.GuardianFilter{TaskID: k.newest(), Limit: 1})
		if len(page.Items) > 0 {
			last = page.Items[0]
		}
		return last.SandboxID == k.box, err
	})
	return verdictText(last), err
}

// verdictText renders the verdict of an analysis and its source.
func verdictText(j client.GuardianAnalysis) string {
	if j.SpokenBy == "none" {
		return "The guardian has analyzed it: no rule matched and no model was asked (" + j.Verdict + ")."
	}
	return "The guardian has analyzed it: " + j.Verdict + ", by " + j.SpokenBy + "."
}

// resolved requests an analysis by the sandbox ID, and expects 404 for an unknown ID.
func (k *kit) resolved(ctx context.Context) (string, error) {
	a, err := k.API.Analyze(ctx, k.box, true)
	switch {
	case err != nil:
		return "", err
	case a.AgentID != k.box || a.TaskID != k.newest() || a.Length == 0:
		return "", k.wrong("Sandbox %s led to sandbox %s, task %s, with %d events.", k.box, a.AgentID, a.TaskID, a.Length)
	}
	if _, err := k.API.Analyze(ctx, task.NewID(), true); task.CodeOf(err) != task.CodeNotFound {
		return "", k.wrong("An unknown ID led to an analysis, expected 404: %v.", err)
	}
	return fmt.Sprintf("It leads to task %s and %s; an unknown ID leads to none.", render.Short(a.TaskID), task.Count(a.Length, "event")), nil
}

func (k *kit) collected(ctx context.Context) (string, error) {
	for kind, want := range map[string]string{event.AgentMessage: "I am watched.", event.AgentToolResult: "shown by a check"} {
		page, err := k.API.NewestEvents(ctx, k.box, client.EventFilter{Type: kind, Limit: 1})
		if err != nil {
			return "", err
		}
		if len(page.Events) == 0 || !strings.Contains(string(page.Events[0].EventData), want) {
			return "", k.wrong("None of %d events %s contains %q.", page.TotalCount, kind, want)
		}
	}
	return "What it said and what its command printed stand among the events of its sandbox.", nil
}

// conducted triggers the conductor and waits for an analysis of a cycle that started later. The conductor's interval is
// long: a key without the scope admin accepts the last analysis.
func (k *kit) conducted(ctx context.Context) (string, error) {
	status, err := k.supervision(ctx)
	if err != nil {
		return "", err
	}
	switch err := k.askToRun(ctx, "conductor"); {
	case task.CodeOf(err) == task.CodeForbidden && status.Conductor.Last == nil:
		return "", skip("", "The conductor has not run yet. Only a key with the scope admin can trigger it.")
	case task.CodeOf(err) == task.CodeForbidden:
		return counted(*status.Conductor.Last), nil
	case err != nil:
		return "", err
	}
	var found *client.ConductorAnalysis
	err = waitUntil(ctx, func() (bool, error) {
		found, err = k.newAnalysis(ctx, status.Conductor)
		return found != nil, err
	})
	if err != nil {
		return "", err
	}
	return counted(*found), nil
}

func counted(a client.ConductorAnalysis) string {
	return fmt.Sprintf("The conductor has analyzed %s: %s.", task.Count(a.Agents, "agent"), a.Status)
}

// newAnalysis returns an analysis of a conductor cycle that started after then; nil: none yet. A cycle that was
// already running may have missed the new sandbox.
func (k *kit) newAnalysis(ctx context.Context, then client.ConductorStatus) (*client.ConductorAnalysis, error) {
	page, err := k.API.ConductorAnalyses(ctx, len(then.Schedule.Recent)+1, "")
	if err != nil {
		return nil, err
	}
	for _, a := range page.Items {
		switch {
		case then.Last != nil && a.ID == then.Last.ID:
			return nil, nil //nolint:nilnil // no newer analysis yet
		case !slices.ContainsFunc(then.Schedule.Recent, func(r client.ScheduleRun) bool { return r.RunID == a.CycleID }):
			return &a, nil
		}
	}
	return nil, nil //nolint:nilnil // not found yet
}

// askToRun triggers guardian or conductor. A trigger during a cycle starts one more cycle afterwards.
func (k *kit) askToRun(ctx context.Context, name string) error {
	return waitUntil(ctx, func() (bool, error) {
		_, err := k.API.AskSchedule(ctx, name, "run", "a check")
		return err == nil, err
	})
}
