package daytona_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Bed {
		t.Helper()
		b := newBed(t, daytonatest.Options{ListLag: 200 * time.Millisecond})
		return conformance.Bed{
			Provider:     b.open(t),
			Reopen:       func() sandbox.Provider { return b.open(t) },
			Orphan:       func(spec sandbox.Spec, cmd sandbox.Command) { b.orphan(t, spec, cmd) },
			Kill:         func(labels sandbox.Labels) { b.kill(t, labels) },
			Break:        func() { b.breakIt(t) },
			CommandLines: func() []string { return commandLines(t) },
			Traces:       func() []byte { return b.traces(t) },
			Late:         func(by time.Duration) func() bool { return b.late(t, by) },
			Pass:         b.server.Advance,
		}
	})
}

// TestConformance_OperatorCheck checks that the suite searches for secrets also without access to the processes of the
// machine.
func TestConformance_OperatorCheck(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	results, err := conformance.Check(t.Context(), conformance.Options{
		Open: func() (sandbox.Provider, error) { return b.open(t), nil }, Only: regexp.MustCompile("SecretsInvisible"),
	})
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.Equal(t, conformance.Kept, results[0].Outcome, results[0].Detail)
}
