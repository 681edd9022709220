package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Outcome is what became of a promise, in the words of omoi check.
type Outcome string

// The outcomes.
const (
	Kept    Outcome = "PASS"
	Broken  Outcome = "FAIL"
	Skipped Outcome = "SKIP" // it could not be tried here, or not to its end
)

// Result is one promise and what became of it.
type Result struct {
	Name    string
	Outcome Outcome
	Detail  string // what went wrong, or why it was not tried
	Seconds float64
}

// Options of [Check].
type Options struct {
	// Open makes a new value of the provider: what a restarted worker has.
	Open func() (sandbox.Provider, error)
	// CommandLines are those of all processes of this machine; nil where the sandboxes are elsewhere.
	CommandLines func() []string
	Only         *regexp.Regexp // names of promises; nil: all
	Parallel     int            // at a time; 0: one
	Report       func(Result)   // called for each as it ends, one at a time; nil: not called
}

// Check tries the promises outside of go test, against a provider in use. What it makes
// carries an installation label of its own, so that nobody takes it for theirs, and is deleted
// and seen to be gone; what is not counts as broken. When ctx ends it judges no more, removes what it made, and answers
// those that it tried with ctx's error.
func Check(ctx context.Context, o Options) ([]Result, error) {
	if err := os.Setenv(PlantedEnv, "planted"); err != nil {
		return nil, fmt.Errorf("plant a variable: %w", err)
	}
	var chosen []named
	for _, one := range all() {
		if o.Only == nil || o.Only.MatchString(one.name) {
			chosen = append(chosen, one)
		}
	}
	results := make([]Result, len(chosen))
	var group errgroup.Group
	group.SetLimit(max(o.Parallel, 1))
	var mu sync.Mutex
	for n, one := range chosen {
		group.Go(func() error {
			results[n] = o.try(ctx, one)
			mu.Lock()
			defer mu.Unlock()
			if o.Report != nil && results[n].Name != "" {
				o.Report(results[n])
			}
			return nil
		})
	}
	_ = group.Wait() // it never fails
	tried := slices.DeleteFunc(results, func(r Result) bool { return r.Name == "" })
	return tried, ctx.Err()
}

// try runs one check and removes what it made.
func (o Options) try(ctx context.Context, one named) Result {
	if ctx.Err() != nil {
		return Result{}
	}
	began := time.Now()
	within, stop := context.WithCancel(ctx)
	defer stop()
	t := &trial{ctx: within}
	provider, err := o.Open()
	if err != nil {
		return Result{Name: one.name, Outcome: Broken, Detail: task.MessageOf(err)}
	}
	bed := Bed{Provider: provider, CommandLines: o.CommandLines, Reopen: func() sandbox.Provider {
		again, err := o.Open()
		require.NoError(t, err, "the provider cannot be opened again")
		return again
	}}
	s := &suite{Bed: bed, p: provider, installation: "check-" + task.NewSandboxID(), another: "check-" + task.NewSandboxID()}
	t.run(func() { one.check(s, t) })
	t.stopped(ctx)
	stop()
	if err := s.clear(context.WithoutCancel(ctx)); err != nil {
		t.broken(task.MessageOf(err))
	}
	r := Result{Name: one.name, Seconds: time.Since(began).Seconds()}
	r.Outcome, r.Detail = t.outcome()
	return r
}

// clear deletes every sandbox that the check can have made, and looks.
func (s *suite) clear(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 4*patience)
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, labels := range s.made {
		for _, installation := range []string{s.installation, s.another} {
			labels.Installation = installation
			errs = append(errs, s.clearOne(ctx, labels))
		}
	}
	return errors.Join(errs...)
}

func (s *suite) clearOne(ctx context.Context, labels sandbox.Labels) error {
	name := task.SandboxName(labels.SandboxID)
	for {
		if err := s.Provider.Delete(ctx, labels); err != nil && task.CodeOf(err) != task.CodeNotFound {
			return task.Errorf(task.CodeOf(err), "%s may be left behind: %s", name, task.MessageOf(err)).WithCause(err)
		}
		seen, err := s.Provider.Inspect(ctx, labels)
		if err == nil && seen.State == sandbox.StateGone {
			return nil
		}
		if wait.For(ctx, time.Second) != nil {
			return task.Errorf(task.CodeInternal, "%s is left behind: it was deleted, and is not gone", name)
		}
	}
}

// trial is the test that a check runs in here.
type trial struct {
	ctx context.Context //nolint:containedctx // it is what [T] answers

	mu   sync.Mutex
	errs []string
	skip string
}

var _ T = (*trial)(nil)

// run answers when the check has ended, in whichever way.
func (t *trial) run(check func()) {
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine that calls it
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				t.broken(fmt.Sprint("it panicked: ", r))
			}
		}()
		check()
	}()
	<-done
}

func (t *trial) broken(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, why)
}

// stopped forgets what went wrong where a person has stopped the check: it says nothing.
func (t *trial) stopped(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		t.skip, t.errs = "not judged", nil
	}
}

func (t *trial) outcome() (is Outcome, detail string) {
	switch {
	case len(t.errs) > 0:
		return Broken, strings.Join(t.errs, "; ")
	case t.skip != "":
		return Skipped, strings.TrimPrefix(t.skip, "SKIPPED: ")
	}
	return Kept, ""
}

// Context ends with the check.
func (t *trial) Context() context.Context { return t.ctx }

// Errorf notes a failure.
func (t *trial) Errorf(format string, args ...any) { t.broken(brief(fmt.Sprintf(format, args...))) }

// FailNow ends the check.
func (t *trial) FailNow() { runtime.Goexit() }

// Skip ends the check, with the reason.
func (t *trial) Skip(args ...any) {
	t.mu.Lock()
	t.skip = fmt.Sprint(args...)
	t.mu.Unlock()
	runtime.Goexit()
}

// brief is what testify says without where in our sources it says it.
func brief(text string) string {
	_, after, found := strings.Cut(text, "Error:")
	if !found {
		after = text
	}
	after, _, _ = strings.Cut(after, "\tTest:")
	after = strings.Join(strings.Fields(strings.ReplaceAll(after, "Messages:", "-")), " ")
	const longest = 500
	if len(after) > longest {
		after = strings.ToValidUTF8(after[:longest], "") + "…"
	}
	return after
}
