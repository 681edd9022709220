package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

// Verdict is the outcome of a trial, or of a whole scenario.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "PASS"
	Fail Verdict = "FAIL"
	Skip Verdict = "SKIP" // it could not be tried; Detail says why
)

// Scenario is a list of trials.
type Scenario struct {
	Name  string // as on the command line
	Title string // what it proves
	fixed bool   // its command has no flags for the repository and the sandbox provider
	// trials makes them for one run.
	trials func(k *kit) []trial
}

// Checks are those of an installation, in the order in which one builds on another.
func Checks() []Scenario {
	return []Scenario{agentCheck(), flow(), e2e(), monitoring(), guardian(), diagnosis()}
}

// trial is one of the steps of a scenario.
type trial struct {
	name string
	// alone: it is tried although one before it has failed.
	alone bool
	// do answers in a sentence what it saw; with an error the sentence is not read.
	do func(ctx context.Context) (string, error)
}

// Step is the outcome of a trial.
type Step struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	Next    string  `json:"next,omitempty"` // the command to type
	Seconds float64 `json:"seconds"`

	err error
}

// Result is the outcome of a scenario, whose last step is the cleanup, or of steps that something else carried out ([ResultOf]).
type Result struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Verdict Verdict `json:"verdict"`
	Steps   []Step  `json:"steps"`
	Seconds float64 `json:"seconds"`
}

// Config configures scenarios.
type Config struct {
	API      *client.Client
	Home     string        // of this installation: where the repository of the checks is kept
	Repo     string        // owner/name, or a path on the server's machine; empty: the checks' own
	Provider string        // of sandboxes; empty: the server's first
	Timeout  time.Duration // of one scenario, without its cleaning up
	// Begin and Report are called for each scenario and step; number 0 is the cleanup.
	Begin  func(Scenario)
	Report func(number, of int, s Step)
}

var errLate = errors.New("the time of the scenario is over")

// Run runs scenarios one after the other, until ctx ends.
func (c Config) Run(ctx context.Context, all []Scenario) []Result {
	var results []Result
	for _, one := range all {
		if ctx.Err() != nil {
			break
		}
		c.Begin(one)
		results = append(results, c.run(ctx, one))
	}
	return results
}

func (c Config) run(ctx context.Context, one Scenario) Result {
	begun := time.Now()
	k := &kit{Config: c, name: one.Name, fixed: one.fixed}
	r := Result{Name: one.Name, Title: one.Title, Steps: k.tryAll(ctx, one.trials(k))}
	clean := k.try(context.WithoutCancel(ctx), trial{name: "clean up", do: k.clean})
	c.Report(0, 0, clean)
	r.Steps = append(r.Steps, clean)
	r.Seconds, r.Verdict = time.Since(begun).Seconds(), verdictOf(r.Steps[:len(r.Steps)-1])
	if clean.Verdict == Fail {
		r.Verdict = Fail
	}
	return r
}

// ResultOf is the result of steps that something else carried out.
func ResultOf(name, title string, steps []Step) Result {
	r := Result{Name: name, Title: title, Verdict: verdictOf(steps), Steps: steps}
	for _, s := range steps {
		r.Seconds += s.Seconds
	}
	return r
}

func (k *kit) tryAll(ctx context.Context, trials []trial) []Step {
	ctx, cancel := context.WithTimeoutCause(ctx, k.Timeout, errLate)
	defer cancel()
	var steps []Step
	failed := ""
	for n, t := range trials {
		s := Step{Name: t.name, Verdict: Skip, Detail: "Not tried: this needs the step \"" + failed + "\"."}
		if failed == "" || t.alone {
			s = k.try(ctx, t)
		}
		if s.Verdict == Fail && failed == "" {
			failed = t.name
		}
		k.Report(n+1, len(trials), s)
		steps = append(steps, s)
	}
	return steps
}

func (k *kit) try(ctx context.Context, t trial) Step {
	begun := time.Now()
	said, err := t.do(ctx)
	s := Step{Name: t.name, Verdict: Pass, Detail: said, Seconds: time.Since(begun).Seconds()}
	if err == nil {
		return s
	}
	s.err, s.Verdict = err, Fail
	s.Detail, s.Next = k.said(err)
	stop, known := errors.AsType[*stopError](err)
	switch {
	case errors.Is(context.Cause(ctx), errLate):
		s.err, s.Detail = errLate, fmt.Sprintf("Not within %s. %s", k.Timeout, k.why(ctx))
	case errors.Is(err, context.Canceled), errors.Is(ctx.Err(), context.Canceled):
		s.Verdict, s.Detail, s.Next = Skip, "Interrupted.", ""
	case known:
		s.Verdict, s.Next = stop.verdict, stop.next
	}
	return s
}

// said is what an error says, and what to do next by its own word, or by ours.
func (k *kit) said(err error) (detail, next string) {
	ours := k.next()
	err = exit.InFlags(err, func(flag string) bool { return !k.fixed && (flag == "repo" || flag == "provider") })
	switch e, ok := errors.AsType[*task.Error](err); {
	case k.fixed:
	case ok && e.Field == "repo":
		ours = "omoi check " + k.name + " --repo <owner/name, or a path on the server's machine>"
	case ok && e.Field == "provider":
		ours = "omoi check " + k.name + " --provider <name>"
	}
	detail, next, _ = strings.Cut(exit.Message(err), " Next: ")
	return detail, cmp.Or(next, ours)
}

// stopError is why a trial has not passed.
type stopError struct {
	verdict Verdict
	text    string
	next    string
}

func (e *stopError) Error() string { return e.text }

// skip says why something cannot be tried here, and what to type so that it can be.
func skip(next, format string, args ...any) error {
	return &stopError{verdict: Skip, text: fmt.Sprintf(format, args...), next: next}
}

// wrong says what is not as it should be.
func (k *kit) wrong(format string, args ...any) error {
	return &stopError{verdict: Fail, text: fmt.Sprintf(format, args...), next: k.next()}
}

// verdictOf is FAIL if one step failed, SKIP if none passed.
func verdictOf(steps []Step) Verdict {
	found := Skip
	for _, s := range steps {
		if s.Verdict == Pass && found == Skip || s.Verdict == Fail {
			found = s.Verdict
		}
	}
	return found
}

// Err is nil without a FAIL; else it has the exit code of the first one: 3 where no server answers, 4 where
// something is not allowed, and 1.
func Err(results []Result) error {
	for _, r := range results {
		for _, s := range r.Steps {
			if s.Verdict != Fail {
				continue
			}
			if code := exit.Code(s.err); code == exit.Unreachable || code == exit.NeedsYou {
				return exit.With(code, nil)
			}
			return exit.With(exit.Failed, nil)
		}
	}
	return nil
}
