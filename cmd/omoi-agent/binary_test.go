package main_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	b := &box{t: t}
	for _, args := range [][]string{{}, {"run"}, {"dance"}, {"run", "--config"}, {"probe"}} {
		cmd := b.command(args...)
		require.Error(t, cmd.Run())
		require.Equal(t, 2, cmd.ProcessState.ExitCode())
	}
	out, err := b.command("version").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "omoi-agent ")
	cmd := b.command("run", "--config", "/nonexistent")
	require.Error(t, cmd.Run())
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	out, err = b.command("probe", "--dir", t.TempDir()).Output()
	require.NoError(t, err)
	require.JSONEq(t, `{"unsent":0,"newest_age_ms":-1,"agent_alive":false,"ended":false}`, string(out))
}

func TestBinary_SmallAndStatic(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the agent runs on Linux")
	}
	path, err := binary()
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(15<<20))
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	for _, banned := range []string{"go.temporal.io", "jackc/pgx", "gin-gonic", "internal/postgres", "internal/testkit"} {
		require.NotContains(t, string(out), banned)
	}
}
