package conformance

import (
	"cmp"
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
	Reopen func() sandbox.Provider
	// Orphan lets another process ensure the sandbox and start cmd, and kills that process
	// with SIGKILL once Start has returned.
	Orphan func(spec sandbox.Spec, cmd sandbox.Command)
	// Kill ends what keeps the sandbox's command running, behind the provider's back.
	Kill func(labels sandbox.Labels)
	// Break makes the provider impossible to ask until the end of the test.
	Break func()
	// CommandLines are those of all processes that any user of the host can see.
	CommandLines func() []string
	// Traces is all that the provider keeps about its sandboxes, but for the files inside.
	Traces func() []byte
	// Late leaves the next create without an answer: what it makes appears so much later by the provider's own time. The
	// answer tells whether it was asked for.
	Late func(by time.Duration) (asked func() bool)
	// Pass lets time of the provider pass.
	Pass func(d time.Duration)
}

// Factory makes a bed and removes what is left of it with t.Cleanup.
type Factory func(t *testing.T) Bed

// Run runs the whole suite. Its tests are parallel, each in a bed of its own.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, one := range all() {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			bed := factory(t)
			names := cmp.Or(bed.Installations, [2]string{"conformance", "another"})
			one.check(&suite{Bed: bed, p: bed.Provider, installation: names[0], another: names[1]}, t)
		})
	}
}
