package temporal

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
)

func TestSDKLog_HasNoLineOfItsOwnForAFailedActivity(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	q := quiet{log.NewStructuredLogger(slog.New(slog.NewTextHandler(&written, nil)))}
	q.Info("Started Worker")
	q.Error("any text", "ActivityType", "SpawnSandbox", "Attempt", 2, "Error", []string{"unavailable"})
	require.Empty(t, written.String())
	q.Error("Activity panic", "ActivityType", "SpawnSandbox", "Attempt", 2, "PanicError", "nil map")
	require.Contains(t, written.String(), `level=ERROR msg="Activity panic"`)
	q.Error("Workflow panic")
	require.Contains(t, written.String(), `level=ERROR msg="Workflow panic"`)
}
