//go:build !emulator

package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// omoi dev rejects the flag before any server starts. make release also tests the built program.
func TestDev_WithoutEmulator(t *testing.T) {
	t.Parallel()
	cfg := fresh(t)
	err := RunDev(t.Context(), cfg, Options{DaytonaEmulator: true})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	require.ErrorContains(t, err, "no Daytona emulator")
	require.NoDirExists(t, cfg.Home)
}
