package scenario

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// keepFor is how long repositories of earlier demos are kept, for omoi diff.
const keepFor = 24 * time.Hour

// DemoOptions is the configuration of the demo, in addition to [Config].
type DemoOptions struct {
	// Lines renders events. Show prints a line.
	Lines *render.Lines
	Show  func(line string)
	// Agent is the agent of the task, with Env as its variables; empty: the scripted one.
	Agent string
	Env   map[string]string
	// History returns the number of events in the workflow history of a task.
	History func(ctx context.Context, taskID string) (int64, error)
}

// demo is one run of the demo.
type demo struct {
	*kit
	DemoOptions

	remote string // path of the repository
}

// Demo returns the scenario that runs one real task in a new repository and prints every event. Task and repository are
// kept.
func Demo(o DemoOptions) Scenario {
	return Scenario{Name: "demo", fixed: true, Title: "one real task, from its acceptance to the verified deletion of its sandbox", trials: func(k *kit) []trial {
		d := &demo{kit: k, DemoOptions: o}
		return []trial{
			{name: "the server answers", do: d.ready},
			{name: "the task is accepted", do: d.accepted},
			{name: "the task is dispatched", do: d.dispatched},
			{name: "its sandbox is spawned", do: d.started},
			{name: "its agent works", do: d.works},
			{name: "the task is completed", do: d.rightNumber},
			{name: "its branch holds the program", do: d.published},
			{name: "its events are whole", do: d.whole},
			{name: "its sandbox is deleted", do: d.deleted},
			{name: "Temporal has its history", do: d.recordedInTemporal},
		}
	}}
}

// demoRepository creates a repository below root and removes those older than [keepFor].
func demoRepository(ctx context.Context, root string) (string, error) {
	runs, _ := filepath.Glob(filepath.Join(root, "run-*")) // the pattern is valid
	for _, run := range runs {
		if info, err := os.Stat(run); err == nil && time.Since(info.ModTime()) > keepFor {
			_ = os.RemoveAll(run)
		}
	}
	remote := filepath.Join(root, "run-"+task.NewID(), "remote.git")
	return remote, makeRepository(ctx, remote)
}

func (d *demo) accepted(ctx context.Context) (said string, err error) {
	if d.remote, err = demoRepository(ctx, filepath.Join(d.Home, "demo")); err != nil {
		return "", err
	}
	in := client.CreateTaskRequest{Repo: d.remote, Title: fmt.Sprintf("Compute C(%d,%d)", chooseN, chooseK), Description: exampleText()}
	if d.Agent != "" {
		in.Agent = d.Agent
		if in.Execution, err = json.Marshal(map[string]any{"env": d.Env, "continuous": false}); err != nil {
			return "", err
		}
	}
	t, err := d.create(ctx, in, exampleSteps()...)
	if err != nil {
		return "", err
	}
	info, err := d.API.Info(ctx)
	return fmt.Sprintf("%s %s", t.ID, taskcmd.WorkflowURL(info, t.ID)), err
}

// works prints the events of the task until the task ends, and checks them.
func (d *demo) works(ctx context.Context) (string, error) {
	var all history
	cursor, poll := "", time.Duration(0)
	err := waitUntil(ctx, func() (bool, error) {
		page, err := d.API.Events(ctx, d.newest(), cursor, poll)
		if err != nil {
			return false, err
		}
		for _, e := range page.Items {
			for _, line := range d.Lines.Event(e) {
				d.Show(line)
			}
		}
		all, cursor = append(all, page.Items...), *cmp.Or(page.NextCursor, &cursor)
		if poll = 0; page.TaskStatus == task.StatusRunning { // only a running task has an agent that sends new events
			poll = pollTime
		}
		return page.NextCursor == nil, nil
	})
	if err != nil {
		return "", err
	}
	missing, said := all.missing(), task.Count(len(all), "event")+"."
	if d.Agent == "" { // some coding agents report a command without its text, or an output with more around it
		missing = cmp.Or(missing, all.unprinted())
		said = fmt.Sprintf("It printed %s, then %s; %s", expected(), grouped(expected()), said)
	}
	if missing != "" {
		return "", d.wrong("Of %d events %s.", len(all), missing)
	}
	return said, nil
}

// missing returns what the events of the demo lack; empty: the events are complete.
func (h history) missing() string {
	for n, e := range h {
		if e.Sequence != int64(n+1) {
			return fmt.Sprintf("event %d has the sequence %d", n+1, e.Sequence)
		}
	}
	switch {
	case h.count(event.AgentStarted) != 1 || h.count(event.AgentCompleted) != 1:
		return fmt.Sprintf("%d are agent.started and %d are agent.completed, expected one each", h.count(event.AgentStarted), h.count(event.AgentCompleted))
	case h.count(event.AgentHeartbeat) == 0:
		return "no event is a heartbeat"
	}
	return ""
}

// unprinted returns what the outputs of the program lack; empty: nothing.
func (h history) unprinted() string {
	results := h.printed(programRun)
	if slices.Equal(results, []string{expected(), grouped(expected())}) {
		return ""
	}
	return fmt.Sprintf("%d have the output of the program: %q", len(results), results)
}

// published checks the pushed program in the repository and prints the diff.
func (d *demo) published(ctx context.Context) (string, error) {
	t, err := d.API.Task(ctx, d.newest())
	if err != nil {
		return "", err
	}
	if t.Branch == nil || t.PullNumber == nil {
		return "", d.wrong("The task has the branch %s and no pull request.", text(t.Branch))
	}
	var diff strings.Builder
	if err := d.API.Diff(ctx, t.ID, &diff); err != nil {
		return "", err
	}
	for line := range strings.Lines(diff.String()) {
		d.Show("  " + d.Lines.DiffLine(render.Clean(strings.TrimRight(line, "\n"))))
	}
	source, err := git(ctx, "-C", d.remote, "show", "refs/heads/"+*t.Branch+":"+programFile)
	if err != nil {
		return "", err
	}
	if !strings.Contains(source, prettyLine) || !strings.Contains(diff.String(), "+"+prettyLine) {
		return "", d.wrong("The branch %s or its diff lacks the agent's last change.", *t.Branch)
	}
	if _, err := os.Stat(pullRecord(d.remote, *t.PullNumber)); err != nil {
		return "", d.wrong("Pull request %d is not recorded: %v.", *t.PullNumber, err)
	}
	return fmt.Sprintf("Its file %s and its diff have the last change; pull request %d is recorded.", programFile, *t.PullNumber), nil
}

// deleted waits until the deletion of the sandbox is verified.
func (d *demo) deleted(ctx context.Context) (string, error) {
	boxes, unverified, err := d.gone(ctx, d.newest(), d.Timeout/2)
	switch {
	case err != nil:
		return "", err
	case len(boxes) != 1 || unverified > 0:
		return "", d.wrong("Expected 1 sandbox that is verified deleted; got %s, %d not verified deleted.", task.Count(len(boxes), "sandbox"), unverified)
	}
	b := boxes[0]
	return fmt.Sprintf("Deletion of %s (%s) is verified; lifetime %.1fs. Isolation: %s.",
		render.Short(b.ID), b.Provider, b.SecondsAlive, strings.Join(b.Isolation, ", ")), nil
}

func (d *demo) recordedInTemporal(ctx context.Context) (string, error) {
	n, err := d.History(ctx, d.newest())
	if err == nil && n == 0 {
		err = d.wrong("The workflow of the task has no history.")
	}
	return task.Count(n, "history event") + ".", err
}

// Services starts or finds the services of an installation on this machine.
type Services struct {
	Home string // OMOI_HOME
	Key  string // API key; may be empty if authentication is disabled
	// Start starts everything and runs until ctx ends. Start calls ready once.
	Start func(ctx context.Context, progress func(step string), ready func(devstack.Info)) error
	// Progress receives each step of startup and shutdown.
	Progress func(step string)
}

// Open finds a running omoi dev or starts everything. Started services run until stop, also after ctx has ended.
func (s Services) Open(ctx context.Context) (info devstack.Info, stop func() error, err error) {
	if info, err := devstack.ReadInfo(s.Home); err == nil && s.answers(ctx, info) {
		s.Progress("using the running omoi dev at " + info.APIURL)
		return info, func() error { return nil }, nil
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
	go func() {
		ended <- s.Start(running, s.Progress, func(info devstack.Info) { ready <- info })
	}()
	stop = func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	select {
	case info := <-ready:
		return info, stop, nil
	case err := <-ended:
		cancel()
		return info, nil, fmt.Errorf("start the services: %w", cmp.Or(err, errors.New("the services ended before they were ready")))
	case <-ctx.Done():
		return info, nil, errors.Join(ctx.Err(), stop())
	}
}

// answers reports whether an omoi dev is ready.
func (s Services) answers(ctx context.Context, info devstack.Info) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	state, err := client.New(info.APIURL, s.Key).Ready(ctx)
	return err == nil && state.Ready
}
