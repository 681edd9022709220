//go:build linux

package docker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// TestKeepDisks fills two volumes of one sandbox beyond the limit. A sandbox with a sparse file, and one of another
// installation, stay.
func TestKeepDisks(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	labels := b.labels()
	box := ensure(t, b.open(t), sandbox.Spec{Labels: labels, Limits: sandbox.Limits{DiskBytes: 32 << 20}})
	require.Contains(t, box.Isolation, "disk-watch")
	p := b.open(t)
	require.NoError(t, p.Start(t.Context(), labels, shell("truncate -s 200M hole; echo up; exec sleep 600")))
	require.Eventually(t, func() bool { return readLog(t, p, labels) == "up\n" }, time.Minute, 20*time.Millisecond)
	kept := func(installation string) sandbox.Inspection {
		p := b.open(t) // a provider that has counted nothing yet
		require.NoError(t, p.KeepDisks(t.Context(), installation))
		seen, err := p.Inspect(t.Context(), labels)
		require.NoError(t, err)
		return seen
	}
	require.Equal(t, sandbox.StateAlive, kept(labels.Installation).Agent, "a hole takes nothing")
	sh(t, p, labels, `for at in . "$HOME"; do dd if=/dev/zero of=$at/fill bs=1M count=20; done`)
	require.Equal(t, sandbox.StateAlive, kept(b.installations[1]).Agent, "it is another's")
	seen := kept(labels.Installation)
	require.Equal(t, []any{sandbox.StateAlive, sandbox.StateGone, true, -1}, []any{seen.State, seen.Agent, seen.DiskFull, seen.ExitCode})
	require.Regexp(t, "the disk use of 4. MB exceeds the limit of 33 MB", seen.Reason)
	require.Equal(t, "20971520 fill\n", sh(t, p, labels, "stat -c '%s %n' fill"), "its work can be saved")

	killed := b.labels()
	ensure(t, p, sandbox.Spec{Labels: killed})
	require.NoError(t, p.Start(t.Context(), killed, shell("exec sleep 600")))
	b.kill(t, killed)
	require.Eventually(t, func() bool {
		seen, err := p.Inspect(t.Context(), killed)
		return err == nil && seen.Agent == sandbox.StateGone && !seen.DiskFull
	}, time.Minute, 20*time.Millisecond, "what is killed for another reason is not full")
}
