package openhands_test

import (
	"testing"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(t *testing.T) *shared{"Fake": onFake, "Real": onReal} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, beds(server(t)))
		})
	}
}

func beds(s *shared) conformance.Factory {
	return func(t *testing.T) conformance.Bed {
		t.Helper()
		b := s.newBed(t)
		return conformance.Bed{
			Provider: b.open(t), Installations: b.names,
			Reopen:       func() sandbox.Provider { return b.open(t) },
			Orphan:       func(spec sandbox.Spec, cmd sandbox.Command) { b.orphan(t, spec, cmd) },
			Kill:         func(labels sandbox.Labels) { b.kill(t, labels) },
			Break:        func() { b.broken.Store(true) },
			CommandLines: commandLines,
			Traces:       func() []byte { return b.traces(t) },
		}
	}
}
