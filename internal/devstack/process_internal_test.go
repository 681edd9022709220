package devstack

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stack that is closed while a dead part is started again stops both starts: the dead
// one finds that its mark went with the new one.
func TestStopFindsTheMarkGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := program{
		name: "true", path: "/bin/true", dir: dir, log: filepath.Join(dir, "log"), mark: filepath.Join(dir, "mark"),
		end: syscall.SIGTERM, die: syscall.SIGTERM,
	}.spawn(context.Background())
	require.NoError(t, err)
	<-c.done
	require.NoError(t, os.Remove(c.mark))
	require.NoError(t, c.stop(time.Second))
}
