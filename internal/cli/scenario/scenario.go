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

// Verdict is the outcome of a step or of a scenario.
type Verdict string

// Values of [Verdict].
const (
	Pass Verdict = "PASS"
	Fail Verdict = "FAIL"
	Skip Verdict = "SKIP" // not tried; Detail says why
)

// Scenario is a list of steps with a name.
type Scenario struct {
	Name  string // name on the command line
	Title string // what a pass proves
	fixed bool   // the command has no flags --repo and --provider
	// trials returns the steps of one run.
	trials func(k *kit) []trial
}

// Checks returns the checks of an installation, from basic to advanced.
func Checks() []Scenario {
	return []Scenario{agentCheck(), flow(), e2e(), monitoring(), guardian(), diagnosis()}
}

// trial is one step of a scenario.
type trial struct {
	name string
	// alone reports that the step runs although an earlier step has failed.
	alone bool
	// do runs the step and returns a sentence about the result. With an error, the sentence is ignored.
	do func(ctx context.Context) (string, error)
}

// Step is the outcome of one step.
type Step struct {
	Name    string            `json:"name"`
	Verdict Verdict           `json:"verdict"`
	Class   task.FailureClass `json:"failure_class,omitempty"` // of the turn of an agent's program
	Detail  string            `json:"detail"`
	Next    string            `json:"next,omitempty"` // command to run next
	Seconds float64           `json:"seconds"`

	err error
}

// Result is the outcome of a scenario. The last step of a scenario is the cleanup; a result of [ResultOf] has none.
type Result struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Verdict Verdict `json:"verdict"`
	Steps   []Step  `json:"steps"`
	Seconds float64 `json:"seconds"`
}

// Config configures a run of scenarios.
type Config struct {
	API      *client.Client
	Home     string        // OMOI_HOME, which holds the checks' own repository
	Repo     string        // owner/name, or a path on the server's machine; empty: the checks' own
	Provider string        // sandbox provider; empty: the server's default
	Timeout  time.Duration // timeout of one scenario, without its cleanup
	// Begin is called before each scenario, Report after each step. Number 0 is the cleanup.
	Begin  func(Scenario)
	Report func(number, of int, s Step)
}

var errLate = errors.New("timeout of the scenario")

// Run runs scenarios one after the other. When ctx ends, the current one cleans up and Run returns.
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

// ResultOf returns a result for steps that ran outside this package.
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

// said returns the text of an error, and the next step that it names, or else a command that explains it.
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

// stopError is an error with a verdict and the next command.
type stopError struct {
	verdict Verdict
	text    string
	next    string
}

func (e *stopError) Error() string { return e.text }

// skip returns the error of a step that cannot run. next is the command that would enable it; may be empty.
func skip(next, format string, args ...any) error {
	return &stopError{verdict: Skip, text: fmt.Sprintf(format, args...), next: next}
}

// wrong returns the error of a failed expectation.
func (k *kit) wrong(format string, args ...any) error {
	return &stopError{verdict: Fail, text: fmt.Sprintf(format, args...), next: k.next()}
}

// verdictOf returns FAIL if a step failed, else PASS if a step passed, else SKIP.
func verdictOf(steps []Step) Verdict {
	found := Skip
	for _, s := range steps {
		if s.Verdict == Pass && found == Skip || s.Verdict == Fail {
			found = s.Verdict
		}
	}
	return found
}

// Err returns nil if no step failed. Else its exit code is that of the first failure: 3 if no server answered, 4 if the
// key lacks a scope, otherwise 1.
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
