package acp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// Finding is the outcome of one check of an agent's program.
type Finding struct {
	Name   string
	Class  task.FailureClass // of the turn that the check ran; empty: omoi stopped it, or there was none
	Err    error             // why the check failed; nil: it passed
	Detail string            // what was seen
	Took   time.Duration
}

// Check checks the program of an agent: it runs the program as omoi runs it, with a model endpoint on this machine that only
// fails, and reports whether omoi takes each failure for what it is. It needs no model and no credential.
type Check struct {
	Dialect Dialect
	Path    string        // of the program
	Only    []string      // names of the checks to run; empty: all
	Wait    time.Duration // for the end of a turn, or of the program, that is to end at once; zero: 30 s
}

// part is one of the checks of a program.
type part struct {
	name string
	do   func(ctx context.Context, c Check) (Finding, error)
}

// parts returns all checks.
func parts() []part {
	return []part{
		{"version", named},
		{"no login", meets(scene{status: http.StatusUnauthorized, keyless: true}, task.ClassCredentials)},
		{"401", meets(scene{status: http.StatusUnauthorized}, task.ClassCredentials)},
		{"429", func(ctx context.Context, c Check) (Finding, error) {
			limit := task.ClassProviderLimit
			if c.Dialect.Mute {
				limit = task.ClassInfrastructure
			}
			return meets(scene{status: http.StatusTooManyRequests}, limit)(ctx, c)
		}},
		{"500", meets(scene{status: http.StatusInternalServerError}, task.ClassInfrastructure)},
		{"empty answer", meets(scene{status: http.StatusOK}, task.ClassAgentError)},
		{"cancel", meets(cancelled(), task.ClassNone)},
		{"end of input", meets(inputEnds(), task.ClassNone)},
	}
}

// CheckNames returns the names of all checks.
func CheckNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// Run reports the outcome of each check.
func (c Check) Run(ctx context.Context, report func(Finding)) {
	c.Wait = cmp.Or(max(c.Wait, 0), checkWait)
	for _, p := range parts() {
		if ctx.Err() != nil {
			return
		}
		if len(c.Only) > 0 && !slices.Contains(c.Only, p.name) {
			continue
		}
		began := time.Now()
		f, err := p.do(ctx, c)
		f.Name, f.Err, f.Took = p.name, err, time.Since(began)
		report(f)
	}
}

func named(ctx context.Context, c Check) (Finding, error) {
	home, err := os.MkdirTemp("", "omoi-check-")
	if err != nil {
		return Finding{}, err
	}
	defer os.RemoveAll(home) //nolint:errcheck // what the program leaves there is of no use
	version, err := c.Dialect.Version(ctx, c.Path, home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home})
	return Finding{Detail: "Version " + version + "."}, err
}

// meets returns a check that a turn in a scene ends in a class. No class: the scene ends the turn itself.
func meets(s scene, class task.FailureClass) func(ctx context.Context, c Check) (Finding, error) {
	return func(ctx context.Context, c Check) (Finding, error) {
		dir, err := os.MkdirTemp("", "omoi-check-")
		if err != nil {
			return Finding{}, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what the program leaves there is of no use
		procs := &proc.Runner{}
		o, err := c.trial(ctx, s, dir, procs)
		killed, left := procs.KillAll()
		switch {
		case err != nil:
			return Finding{}, err
		case left > 0, killed > 0 && !o.leaves:
			return Finding{}, fmt.Errorf("%d processes were left", killed+left)
		case o.failure == nil && class != task.ClassNone:
			return Finding{}, fmt.Errorf("the turn counts as a success")
		case class == task.ClassNone:
			return Finding{Detail: o.detail}, nil
		}
		f := Finding{Class: o.failure.Class, Detail: fmt.Sprintf("Failure class %s: %s", o.failure.Class, strings.Join(strings.Fields(o.failure.Text), " "))}
		if f.Class != class {
			return f, fmt.Errorf("the failure class is %s instead of %s: %s", f.Class, class, o.failure.Text)
		}
		return f, nil
	}
}
