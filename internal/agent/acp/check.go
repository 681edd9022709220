package acp

import (
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

// check is a check of an agent's program.
type check struct {
	name string
	do   func(ctx context.Context, d Dialect, path string) (Finding, error)
}

// checks returns all checks.
func checks() []check {
	return []check{
		{"version", named},
		{"no login", meets(scene{status: http.StatusUnauthorized, keyless: true}, task.ClassCredentials)},
		{"401", meets(scene{status: http.StatusUnauthorized}, task.ClassCredentials)},
		{"429", func(ctx context.Context, d Dialect, path string) (Finding, error) {
			limit := task.ClassProviderLimit
			if d.Mute {
				limit = task.ClassInfrastructure
			}
			return meets(scene{status: http.StatusTooManyRequests}, limit)(ctx, d, path)
		}},
		{"500", meets(scene{status: http.StatusInternalServerError}, task.ClassInfrastructure)},
		{"empty answer", meets(scene{status: http.StatusOK}, task.ClassAgentError)},
		{"cancel", meets(cancelled(), task.ClassNone)},
		{"end of input", meets(inputEnds(), task.ClassNone)},
	}
}

// CheckNames returns the names of all checks.
func CheckNames() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// Check runs the program at path as omoi runs it, with a model endpoint on this machine that only fails, and reports
// whether omoi takes each failure for what it is. Check needs no model and no credential. It runs the checks with the
// names of only, or all.
func (d Dialect) Check(ctx context.Context, path string, only []string, report func(Finding)) {
	for _, c := range checks() {
		if ctx.Err() != nil {
			return
		}
		if len(only) > 0 && !slices.Contains(only, c.name) {
			continue
		}
		began := time.Now()
		f, err := c.do(ctx, d, path)
		f.Name, f.Err, f.Took = c.name, err, time.Since(began)
		report(f)
	}
}

func named(ctx context.Context, d Dialect, path string) (Finding, error) {
	home, err := os.MkdirTemp("", "omoi-check-")
	if err != nil {
		return Finding{}, err
	}
	defer os.RemoveAll(home) //nolint:errcheck // what the program leaves there is of no use
	version, err := d.Version(ctx, path, home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home})
	return Finding{Detail: "Version " + version + "."}, err
}

// meets returns a check that a turn in a scene ends in a class. No class: the scene ends the turn itself.
func meets(s scene, class task.FailureClass) func(ctx context.Context, d Dialect, path string) (Finding, error) {
	return func(ctx context.Context, d Dialect, path string) (Finding, error) {
		dir, err := os.MkdirTemp("", "omoi-check-")
		if err != nil {
			return Finding{}, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what the program leaves there is of no use
		procs := &proc.Runner{}
		o, err := d.trial(ctx, s, path, dir, procs)
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
