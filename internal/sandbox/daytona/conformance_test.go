package daytona_test

import (
	"testing"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona/standin"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Bed {
		t.Helper()
		b := newBed(t, standin.Options{ListLag: 200 * time.Millisecond})
		return conformance.Bed{
			Provider: b.open(t), Reopen: func(t *testing.T) sandbox.Provider { t.Helper(); return b.open(t) },
			Orphan: b.orphan, Kill: b.kill, Break: b.breakIt, CommandLines: commandLines, Traces: b.traces,
		}
	})
}
