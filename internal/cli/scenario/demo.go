package scenario

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	demoTimeout = 2 * time.Minute // of the task itself; starting the services has limits of its own
	keepFor     = 24 * time.Hour  // how long the repositories of earlier demos stay, so that their diffs can be looked at
	eventWait   = 5 * time.Second
)

// DemoConfig is what a demo needs.
type DemoConfig struct {
	Home string // OMOI_HOME, where state and repositories go
	Key  string // sent to the server; without authentication none is needed
	// Start starts everything and keeps it running until ctx ends. It calls ready once.
	Start func(ctx context.Context, progress func(step string), ready func(devstack.Info)) error
	// History counts the events in a task's history.
	History func(ctx context.Context, info devstack.Info, taskID string) (int64, error)
	Program string // how omoi is called on this command line
	Agent   string // scripted, if it is empty, or claude
	Timeout time.Duration
	Stdout  io.Writer
	Style   render.Style
	JSON    bool // print the report as JSON and nothing else
}

// demo is one run of the demo.
type demo struct {
	kit

	cfg    DemoConfig
	mu     sync.Mutex // of Stdout
	lines  *render.Lines
	info   devstack.Info
	report report
}

// Demo runs one real task of a throw-away repository, from its acceptance to the verified deletion of its sandbox, shows it
// line by line, and checks what it shows. It returns nil only if every check passes.
func Demo(ctx context.Context, cfg DemoConfig) error {
	cfg.Timeout, cfg.Agent = cmp.Or(cfg.Timeout, demoTimeout), cmp.Or(cfg.Agent, task.AgentScripted)
	now := time.Now()
	d := &demo{cfg: cfg, lines: &render.Lines{Style: cfg.Style, Start: now, Heartbeats: true}, report: report{Begun: now, Program: choose()}}
	d.say("%s", cfg.Style.Bold("omoi demo: one real task, from its acceptance to the verified deletion of its sandbox."))
	d.say("%s\n", d.introduction())
	stop, err := d.serve(ctx)
	if err != nil {
		return err
	}
	err = d.run(ctx)
	if stopped := stop(); err == nil {
		err = stopped
	}
	if ctx.Err() != nil {
		d.say("Interrupted. The task goes on at the next %s dev", d.again())
		return exit.With(exit.Interrupted, err)
	}
	if err != nil {
		return err
	}
	return d.finish()
}

func (d *demo) introduction() string {
	if d.cfg.Agent == task.AgentClaude {
		return "The agent is Claude Code, with the model that it is set to. That costs what the model costs."
	}
	return "The agent is scripted: it follows a list of steps and has no model. Everything else is real."
}

// serve finds a running omoi dev of this home, or starts everything. stop ends what was started.
func (d *demo) serve(ctx context.Context) (stop func() error, err error) {
	if info, err := devstack.ReadInfo(d.cfg.Home); err == nil && d.use(ctx, info) {
		d.line("startup", "using the running omoi dev at "+info.APIURL)
		return func() error { return nil }, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
	go func() {
		ended <- d.cfg.Start(ctx, func(step string) { d.line("startup", step) }, func(info devstack.Info) { ready <- info })
	}()
	select {
	case info := <-ready:
		d.info, d.API = info, client.New(info.APIURL, d.cfg.Key)
		d.line("startup", "complete")
		return func() error {
			d.line("shutdown", "stopping all services")
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}, nil
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("start the services: %w", cmp.Or(err, errors.New("they ended before they were ready")))
	}
}

// use reports whether an omoi dev answers.
func (d *demo) use(ctx context.Context, info devstack.Info) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	d.info, d.API = info, client.New(info.APIURL, d.cfg.Key)
	state, err := d.API.Ready(ctx)
	return err == nil && state.Ready
}

// run creates the task, watches it and collects what came of it.
func (d *demo) run(ctx context.Context) error {
	remote, err := demoRepository(ctx, filepath.Join(d.cfg.Home, "demo"))
	if err != nil {
		return err
	}
	d.repo = &repository{name: remote, own: true}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Timeout, fmt.Errorf("the task has not ended within %s", d.cfg.Timeout))
	defer cancel()
	d.report.Ready = time.Now()
	if err := d.create(ctx); err != nil {
		return err
	}
	if info, err := d.API.Info(ctx); err == nil {
		d.report.URL = taskcmd.WorkflowURL(info, d.newest())
		d.line("temporal", d.report.URL+"  (while this runs)")
	}
	if err = d.watch(ctx); err == nil {
		err = d.collect(ctx)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
		return fmt.Errorf("%w: %s", context.Cause(ctx), d.why(ctx))
	}
	return err
}

// demoRepository makes a throw-away repository below root, and removes those of old demos.
func demoRepository(ctx context.Context, root string) (string, error) {
	runs, _ := filepath.Glob(filepath.Join(root, "run-*")) // the pattern is good
	for _, run := range runs {
		if info, err := os.Stat(run); err == nil && time.Since(info.ModTime()) > keepFor {
			_ = os.RemoveAll(run)
		}
	}
	remote := filepath.Join(root, "run-"+task.NewID(), "remote.git")
	return remote, makeRepository(ctx, remote)
}

// create creates the task. The scripted agent gets its script; Claude Code gets none, and one iteration is enough for a
// task as small as this.
func (d *demo) create(ctx context.Context) error {
	p := d.report.Program
	config := json.RawMessage(`{"continuous":false}`)
	if d.cfg.Agent == task.AgentScripted {
		var err error
		if config, err = execution(ctx, p.steps()); err != nil {
			return err
		}
		script, err := json.MarshalIndent(map[string]any{"steps": p.steps()}, "", "  ")
		if err == nil {
			err = os.WriteFile(d.script(), script, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the script: %w", err)
		}
	}
	t, _, err := d.API.CreateTask(ctx, client.NewTask{
		Repo: d.repo.name, Title: "Compute C(50,25)", Description: p.text(), Agent: d.cfg.Agent, Execution: config,
	}, task.NewID())
	if err != nil {
		return fmt.Errorf("create the task: %w", err)
	}
	d.report.Task, d.tasks = t, []string{t.ID}
	d.line("task", d.cfg.Style.Bold(t.ID)+"  "+p.text())
	return nil
}

// script is the script as a file, for users who run it again.
func (d *demo) script() string { return filepath.Join(d.cfg.Home, "demo", "script.json") }

// watch prints what happens until the task has ended, and keeps every event.
func (d *demo) watch(ctx context.Context) error {
	cursor, status, poll := "", task.StatusPending, time.Duration(0)
	return waitUntil(ctx, func() (bool, error) {
		page, err := d.API.Events(ctx, d.newest(), cursor, poll)
		if err != nil {
			return false, err
		}
		for _, e := range page.Events {
			for _, line := range d.lines.Event(e) {
				d.say("%s", line)
			}
		}
		d.report.Events, cursor = append(d.report.Events, page.Events...), page.Next
		if page.TaskStatus != status {
			status = page.TaskStatus
			d.line("task", string(status))
		}
		if poll = 0; status == task.StatusRunning { // only then is there an agent that sends some
			poll = eventWait
		}
		return page.Done, nil
	})
}

// collect waits until the deletion of every sandbox is verified, then reads what the report tells.
func (d *demo) collect(ctx context.Context) (err error) {
	r := &d.report
	if r.Sandboxes, _, err = d.gone(ctx, d.newest(), d.cfg.Timeout); err != nil {
		return fmt.Errorf("wait for the sandbox to be deleted: %w", err)
	}
	for _, b := range r.Sandboxes {
		d.line("sandbox", render.Short(b.ID)+" deletion verified")
	}
	if r.Task, err = d.API.Task(ctx, d.newest()); err != nil {
		return err
	}
	if r.History, err = d.cfg.History(ctx, d.info, r.Task.ID); err != nil {
		return fmt.Errorf("read the length of the history: %w", err)
	}
	if r.Task.Branch == nil {
		return nil // the checks will say so
	}
	var diff strings.Builder
	if err := d.API.Diff(ctx, r.Task.ID, &diff); err != nil {
		return fmt.Errorf("read the diff: %w", err)
	}
	r.Diff = diff.String()
	r.Source, _ = git(ctx, "-C", d.repo.name, "show", "refs/heads/"+*r.Task.Branch+":"+r.Program.file) // a check says so
	if r.Task.PullNumber != nil {
		_, err := os.Stat(pullRecord(d.repo.name, *r.Task.PullNumber))
		r.Pull = err == nil
	}
	return nil
}

// finish prints the report; a check that fails is exit code 1.
func (d *demo) finish() error {
	checks := d.report.checks()
	if d.cfg.JSON {
		if err := d.report.json(d.cfg.Stdout, checks); err != nil {
			return err
		}
	} else {
		d.print(checks)
	}
	if failed := failures(checks); len(failed) > 0 {
		return exit.With(exit.Failed, fmt.Errorf("the demo failed: %s", strings.Join(failed, "; ")))
	}
	return nil
}
