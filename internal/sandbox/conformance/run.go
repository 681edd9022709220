package conformance

import (
	"testing"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// Bed is a place of its own to test in, empty at first. A hook that is nil skips, loudly,
// what needs it.
type Bed struct {
	Provider sandbox.Provider
	// Installations are the labels of all that is made, for beds that share a place. Empty:
	// "conformance" and "another".
	Installations [2]string
	// Reopen makes a new value over the same place: what a restarted worker has.
	Reopen func(t *testing.T) sandbox.Provider
	// Orphan lets another process ensure the sandbox and start cmd, and kills that process
	// with SIGKILL once Start has returned.
	Orphan func(t *testing.T, spec sandbox.Spec, cmd sandbox.Command)
	// Kill ends what keeps the sandbox's command running, behind the provider's back.
	Kill func(t *testing.T, labels sandbox.Labels)
	// Break makes the provider impossible to ask until the end of the test.
	Break func(t *testing.T)
	// CommandLines are those of all processes that any user of the host can see.
	CommandLines func(t *testing.T) []string
	// Traces is all that the provider keeps about its sandboxes, but for the files inside.
	Traces func(t *testing.T) []byte
	// Late leaves the next create without an answer: what it makes appears so much later by the provider's own time. The
	// answer tells whether it was asked for.
	Late func(t *testing.T, by time.Duration) (asked func() bool)
	// Pass lets time of the provider pass.
	Pass func(t *testing.T, d time.Duration)
}

// Factory makes a bed and removes what is left of it with t.Cleanup.
type Factory func(t *testing.T) Bed

// of makes the hooks of a bed those of one test.
func (b Bed) of(t *testing.T) bed {
	t.Helper()
	out := bed{Provider: b.Provider}
	if b.Reopen != nil {
		out.Reopen = func(T) sandbox.Provider { return b.Reopen(t) }
	}
	if b.Orphan != nil {
		out.Orphan = func(_ T, spec sandbox.Spec, cmd sandbox.Command) { b.Orphan(t, spec, cmd) }
	}
	if b.Kill != nil {
		out.Kill = func(_ T, labels sandbox.Labels) { b.Kill(t, labels) }
	}
	if b.Break != nil {
		out.Break = func(T) { b.Break(t) }
	}
	if b.CommandLines != nil {
		out.CommandLines = func(T) []string { return b.CommandLines(t) }
	}
	if b.Traces != nil {
		out.Traces = func(T) []byte { return b.Traces(t) }
	}
	if b.Late != nil {
		out.Late = func(_ T, by time.Duration) func() bool { return b.Late(t, by) }
	}
	if b.Pass != nil {
		out.Pass = func(_ T, d time.Duration) { b.Pass(t, d) }
	}
	return out
}

// Run runs the whole suite. Its tests are parallel, each in a bed of its own.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, one := range all() {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			bed := factory(t)
			if bed.Installations == [2]string{} {
				bed.Installations = [2]string{"conformance", "another"}
			}
			one.check(&suite{bed: bed.of(t), p: bed.Provider, t: t, installation: bed.Installations[0], another: bed.Installations[1]})
		})
	}
}
