package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

const smallDisk = 24 << 20

// TestStart_FullDisk fills the disk in ways that a count could miss.
func TestStart_FullDisk(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"files":   `i=0; while :; do i=$((i+1)); head -c 3000000 /dev/zero > "$HOME/f$i" || exit 0; sleep 0.02; done`,
		"output":  `cat /dev/zero`,
		"removed": `exec 3>f; rm f; exec 4>f; rm f; head -c 20000000 /dev/zero >&3; head -c 20000000 /dev/zero >&4; sleep 600`,
		"empty":   `seq 10000 | xargs touch; head -c 8000000 /dev/zero > big; sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, labels := ensure(t, local.Config{Root: newRoot(t)}, sandbox.Spec{Limits: sandbox.Limits{DiskBytes: smallDisk}})
			require.Contains(t, p.Isolation(), "disk-watch")
			start(t, p, labels, "sh", "-c", script)
			seen := ended(t, p, labels)
			require.True(t, seen.DiskFull, "%+v", seen)
			require.Regexp(t, "exceeds the limit of 0.03 GB|as large as the disk limit", seen.Reason)
			require.Equal(t, -1, seen.ExitCode)
			_, code := run(t, p, labels, "sh", "-c", "echo saved > note")
			require.Zero(t, code, "work can be saved from a full sandbox")
		})
	}
}

func TestExec_FullDisk(t *testing.T) {
	t.Parallel()
	p, labels := ensure(t, local.Config{Root: newRoot(t)}, sandbox.Spec{Limits: sandbox.Limits{DiskBytes: smallDisk}})
	_, err := sandbox.Exec(t.Context(), p, labels, sandbox.Command{Args: []string{"sh", "-c", "i=0; while :; do i=$((i+1)); head -c 3000000 /dev/zero > $i; sleep 0.02; done"}})
	require.Equal(t, task.CodeExhausted, task.CodeOf(err), "%v", err)
}

// TestStart_FileAsLargeAsTheDisk checks the limit of a single file, which works without a count.
func TestStart_FileAsLargeAsTheDisk(t *testing.T) {
	t.Parallel()
	p, labels := ensure(t, local.Config{Root: newRoot(t)}, sandbox.Spec{Limits: sandbox.Limits{DiskBytes: smallDisk}})
	out, _ := run(t, p, labels, "sh", "-c", "dd if=/dev/zero of=big bs=1M seek=20 count=40 2>/dev/null; stat -c %s big; ulimit -c")
	require.Equal(t, "25165824\n0\n", out)
}
