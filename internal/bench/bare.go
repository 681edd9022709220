package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Names of the bare workflow and of its parts.
const (
	bareQueue    = "bench-bare"
	bareWorkflow = "Bare"
	bareActivity = "Nothing"
	bareSignal   = "signal"
)

// bareInput says what a bare workflow has.
type bareInput struct {
	Activities int `json:"activities"`
	Signals    int `json:"signals"`
}

// runBare has so many activities, one after the other, and takes its signals between them.
func runBare(ctx workflow.Context, in bareInput) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	signals := workflow.GetSignalChannel(ctx, bareSignal)
	for n := range in.Activities {
		if n > in.Activities/2 && in.Signals > 0 {
			signals.Receive(ctx, nil)
			in.Signals--
		}
		if err := workflow.ExecuteActivity(ctx, bareActivity).Get(ctx, nil); err != nil {
			return err
		}
	}
	for range in.Signals {
		signals.Receive(ctx, nil)
	}
	return nil
}

// bare runs bare workflows.
type bare struct {
	client client.Client
	worker worker.Worker
	in     bareInput
}

// startBare starts a worker like omoi's for workflows of that shape.
func startBare(c client.Client, shape past) (*bare, error) {
	const activities, workflows, pollers = 200, 100, 4
	w := worker.New(c, bareQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: activities, MaxConcurrentWorkflowTaskExecutionSize: workflows,
		MaxConcurrentActivityTaskPollers: pollers, MaxConcurrentWorkflowTaskPollers: pollers,
		DisableRegistrationAliasing: true,
	})
	w.RegisterWorkflowWithOptions(runBare, workflow.RegisterOptions{Name: bareWorkflow})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: bareActivity})
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start the worker of bare workflows: %w", err)
	}
	return &bare{client: c, worker: w, in: bareInput{Activities: shape.activities, Signals: shape.signals}}, nil
}

func (b *bare) stop() { b.worker.Stop() }

// one carries one workflow out.
func (b *bare) one(ctx context.Context) error {
	run, err := b.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "bare-" + rand.Text(), TaskQueue: bareQueue, EnableEagerStart: true,
	}, bareWorkflow, b.in)
	if err != nil {
		return fmt.Errorf("start a bare workflow: %w", err)
	}
	for range b.in.Signals {
		if err := b.client.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), bareSignal, nil); err != nil {
			return fmt.Errorf("signal a bare workflow: %w", err)
		}
	}
	if err := run.Get(ctx, nil); err != nil {
		return fmt.Errorf("carry out a bare workflow: %w", err)
	}
	return nil
}
