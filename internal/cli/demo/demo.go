package demo

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

// defaultTimeout bounds the task itself; starting the services has limits of its own.
const defaultTimeout = 2 * time.Minute

// Config is what a demo needs.
type Config struct {
	Home string // OMOI_HOME, where state and repositories go
	// Key is sent to the server; an open one needs none.
	Key string
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

// demo is one run of it.
type demo struct {
	Config

	mu    sync.Mutex // of Stdout
	begun time.Time
	lines *render.Lines
	info  devstack.Info
	api   *client.Client
	place place
}

// Run runs the demo. It returns nil only if everything that it says is true.
func Run(ctx context.Context, cfg Config) error {
	cfg.Timeout, cfg.Agent = cmp.Or(cfg.Timeout, defaultTimeout), cmp.Or(cfg.Agent, task.AgentScripted)
	now := time.Now()
	d := &demo{Config: cfg, begun: now, lines: &render.Lines{Style: cfg.Style, Start: now, Heartbeats: true}}
	d.say("%s", cfg.Style.Bold("omoi demo: one real task, from its acceptance to a sandbox that is verified gone."))
	d.say("%s\n", d.introduced())
	stop, err := d.serve(ctx)
	if err != nil {
		return err
	}
	report, err := d.run(ctx)
	if stopped := stop(); err == nil {
		err = stopped
	}
	if ctx.Err() != nil {
		d.say("Interrupted. What was begun goes on at the next %s dev", d.again())
		return exit.With(exit.Interrupted, err)
	}
	if err != nil {
		return err
	}
	return d.finish(report)
}

// serve finds a running omoi dev of this home, or starts everything. stop ends what was started.
func (d *demo) serve(ctx context.Context) (stop func() error, err error) {
	if info, err := devstack.ReadInfo(d.Home); err == nil && d.answers(ctx, info) {
		d.use(info)
		d.line("services", "using the omoi dev that runs already, at "+info.APIURL)
		return func() error { return nil }, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
	go func() {
		ended <- d.Start(ctx, func(step string) { d.line("services", step) }, func(info devstack.Info) { ready <- info })
	}()
	select {
	case info := <-ready:
		d.use(info)
		d.line("services", "all are up")
		return func() error {
			d.line("services", "stopping them")
			cancel()
			return notCancelled(<-ended)
		}, nil
	case err := <-ended:
		cancel()
		if err == nil {
			err = errors.New("the services ended before they were ready")
		}
		return nil, fmt.Errorf("start the services: %w", err)
	}
}

// notCancelled drops the error with which services answer to being stopped.
func notCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (d *demo) use(info devstack.Info) {
	d.info, d.api = info, client.New(info.APIURL, d.Key)
}

func (d *demo) answers(ctx context.Context, info devstack.Info) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	state, err := client.New(info.APIURL, d.Key).Ready(ctx)
	return err == nil && state.Ready
}

// run gives the task, watches it and looks at what became of it.
func (d *demo) run(ctx context.Context) (*report, error) {
	var err error
	if d.place, err = makePlace(ctx, d.Home); err != nil {
		return nil, err
	}
	p := choose()
	execution, err := d.execution(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.Timeout, fmt.Errorf("the task has not ended within %s", d.Timeout))
	defer cancel()
	r := &report{Program: p, Ready: time.Now(), Begun: d.begun}
	if r.Task, err = d.submit(ctx, p, execution); err != nil {
		return nil, err
	}
	if info, err := d.api.Info(ctx); err == nil {
		r.URL = taskcmd.WorkflowURL(info, r.Task.ID)
		d.line("temporal", r.URL+"  (while this runs)")
	}
	if err := d.watch(ctx, r); err != nil {
		return nil, d.why(ctx, r, err)
	}
	return r, d.why(ctx, r, d.collect(ctx, r))
}

// why names the limit where it was the limit, and where to look on.
func (d *demo) why(ctx context.Context, r *report, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
		return fmt.Errorf("%w; it is %s: %s", context.Cause(ctx), r.Task.Status, render.Clean(r.Task.Why))
	}
	return err
}

func (d *demo) submit(ctx context.Context, p program, execution json.RawMessage) (client.Task, error) {
	t, _, err := d.api.CreateTask(ctx, client.NewTask{
		Repo: d.place.remote, Title: "Compute C(50,25)", Description: p.text(), Agent: d.Agent, Execution: execution,
	}, task.NewID())
	if err != nil {
		return t, fmt.Errorf("give the task: %w", err)
	}
	d.line("task", d.Style.Bold(t.ID)+"  "+p.text())
	return t, nil
}

// say writes a line for people.
func (d *demo) say(format string, args ...any) {
	if d.JSON {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = fmt.Fprintf(d.Stdout, format+"\n", args...)
}

// line is one step with its elapsed time.
func (d *demo) line(what, text string) {
	d.say("%s", d.lines.Line(time.Now(), d.Style.Dim(what), text))
}

// finish prints the report; what is not true ends in exit code 1.
func (d *demo) finish(r *report) error {
	facts := r.facts()
	var wrong []string
	for _, f := range facts {
		if !f.Holds {
			wrong = append(wrong, f.Name)
		}
	}
	if d.JSON {
		if err := r.json(d.Stdout, facts); err != nil {
			return err
		}
	} else {
		d.print(r, facts)
	}
	if len(wrong) > 0 {
		return exit.With(exit.Failed, fmt.Errorf("the demo ran, and this is not as it should be: %s", strings.Join(wrong, "; ")))
	}
	return nil
}

// again is the beginning of a command line that uses the same installation.
func (d *demo) again() string {
	if home, err := os.UserHomeDir(); err == nil && d.Home == filepath.Join(home, ".omoi") {
		return d.Program
	}
	return "OMOI_HOME=" + d.Home + " " + d.Program
}
