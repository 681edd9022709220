package api

import (
	"cmp"
	"context"
	"errors"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// Explaining reads what explains the state of a task.
type Explaining interface {
	WhyFacts(ctx context.Context, organizationID, taskID string) (explain.WhyFacts, error)
	Diagnoses(ctx context.Context, organizationID string, q client.DiagnosisQuery) (client.Page[explain.Diagnosis], error)
}

func (a *API) registerWhy() {
	tasks := a.group(tagTasks, "/api/v1/tasks")
	diagnoses := a.group(tagGuardian, "/api/v1/diagnoses")
	add(tasks.on(accessRead, "GET /{id}/why", "explain-task", "Explain a task's state"), a.whyTask,
		details{more: "What the task does or waits for, the events that show it, and the next command."})
	add(diagnoses.on(accessRead, "GET", "list-diagnoses", "List diagnoses"), listed(a.deps.Explaining.Diagnoses),
		details{more: "Stored causes of failed tasks and tickets, newest first."})
}

func (a *API) whyTask(ctx context.Context, in *IDPath) (*bodyOut[client.Explanation], error) {
	f, err := a.deps.Explaining.WhyFacts(ctx, callerOf(ctx).organization, in.ID)
	if err != nil {
		return nil, err
	}
	f.Down = a.outage(ctx, f.Task)
	f.Silent, f.NoWork, f.Idle = a.cfg.Silent, a.cfg.NoWork, a.cfg.Idle
	if n := len(f.Task.Attempts); n > 0 {
		f.Signs = supervise.Signs(f.Task.ID, f.Task.Attempts[n-1].Number, f.Events)
	}
	f.Same = supervise.SameFailures(f.Task.Attempts)
	return body(explain.Explain(f), nil)
}

// outage returns the dependencies that keep a task from starting, by the probes of /readyz.
func (a *API) outage(ctx context.Context, t task.Task) explain.Outage {
	if !explain.AboutToStart(t) {
		return explain.Outage{}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, p := range a.deps.Probes {
		if p.Check == nil || p.Name != "workers" && p.Name != "temporal" {
			continue
		}
		err := p.Check(ctx)
		down, known := errors.AsType[DownError](err)
		if err == nil || known && !down.NoTasks {
			continue
		}
		return explain.Outage{What: task.MessageOf(err), Next: cmp.Or(down.Next, "omoi doctor")}
	}
	return explain.Outage{}
}
