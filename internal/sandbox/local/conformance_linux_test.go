package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("Bubblewrap", func(t *testing.T) {
		t.Parallel()
		needWrap(t)
		conformance.Run(t, beds(local.IsolationRequire))
	})
	t.Run("ProcessGroup", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, beds(local.IsolationNone))
	})
}

// needWrap skips the test if bubblewrap does not work.
func needWrap(t *testing.T) {
	t.Helper()
	cfg := local.Config{Root: newRoot(t), Isolation: local.IsolationAuto}
	if p := open(t, cfg); p.Isolation()[0] != "bubblewrap" {
		t.Skip("SKIPPED: bubblewrap does not work here; see the warning above for the reason")
	}
}

func beds(isolation local.Isolation) conformance.Factory {
	return func(t *testing.T) conformance.Bed {
		t.Helper()
		b := &bed{cfg: local.Config{Root: newRoot(t), Isolation: isolation}}
		p := open(t, b.cfg)
		require.NotEmpty(t, p.Isolation())
		t.Cleanup(func() { sweep(t, b.cfg) })
		return conformance.Bed{
			Provider:     p,
			Reopen:       func() sandbox.Provider { return b.reopen(t) },
			Orphan:       func(spec sandbox.Spec, cmd sandbox.Command) { b.orphan(t, spec, cmd) },
			Kill:         func(labels sandbox.Labels) { b.kill(t, labels) },
			Break:        func() { b.breakIt(t) },
			CommandLines: func() []string { return commandLines(t) },
			Traces:       func() []byte { return b.traces(t) },
		}
	}
}
