package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

type emergencyIn struct {
	Body []string `maxItems:"50" nullable:"false"`
}

// emergency analyzes several agents, each once and all within the time of one response. At most MaxAnalyses run
// concurrently.
func (a *API) emergency(ctx context.Context, in *emergencyIn) (*bodyOut[client.EmergencyAnalysis], error) {
	ids := once(in.Body)
	found, failed := make([]client.AgentAnalysis, len(ids)), make([]error, len(ids))
	parallel := cmp.Or(a.cfg.Monitoring.MaxAnalyses, 1)
	room := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for n, id := range ids {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			turn, cancel := inTurn(ctx, (len(ids)-n+parallel-1)/parallel)
			defer cancel()
			found[n], failed[n] = a.judge(turn, id, true)
		})
	}
	group.Wait()
	return body(sorted(ids, found, failed), nil)
}

func once(ids []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// inTurn returns a context with an equal share of the remaining time for each of the next left analyses.
func inTurn(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(until)/time.Duration(left+1)) // the last share is for the response
}

func sorted(ids []string, found []client.AgentAnalysis, failed []error) client.EmergencyAnalysis {
	out := client.EmergencyAnalysis{Analyses: []client.AgentAnalysis{}, Failed: map[string]string{}}
	for n, id := range ids {
		switch {
		case errors.Is(failed[n], context.DeadlineExceeded):
			out.Failed[clip(id)] = "There was no time to judge it. Ask for fewer at a time."
		case failed[n] != nil:
			out.Failed[clip(id)] = task.MessageOf(failed[n])
		default:
			out.Analyses = append(out.Analyses, found[n])
		}
	}
	return out
}

func (a *API) sandboxesStatus(ctx context.Context, _ *struct{}) (*bodyOut[client.SandboxesStatus], error) {
	active, err := a.deps.Monitored.ActiveLife(ctx, callerOf(ctx).organization)
	if err != nil {
		return nil, err
	}
	out := client.SandboxesStatus{Sandboxes: []client.MonitoredSandbox{}, Active: len(active), Timestamp: time.Now().UTC()}
	for _, life := range active {
		one := client.MonitoredSandbox{SandboxID: life.Activity.SandboxID, Activity: life.Activity}
		if life.Phases.IsSpec {
			one.Phases = &life.Phases
			out.Spec++
		}
		if life.Activity.IsIdle || life.Phases.Stuck {
			out.Stuck++
		}
		out.Sandboxes = append(out.Sandboxes, one)
	}
	return body(out, nil)
}
