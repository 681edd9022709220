package cli

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// The demo of a running omoi dev leads to its page, and starts no second one.
func TestAfterDemo_BesideARunningDev(t *testing.T) {
	t.Parallel()
	next := func(pid int) string {
		var out bytes.Buffer
		testGlobals(&out).afterDemo(t.TempDir(), devstack.Info{APIURL: "http://127.0.0.1:18000", PID: pid})
		return out.String()
	}
	require.Equal(t, "\nNext: open http://127.0.0.1:18000/tasks, where omoi dev shows this task\n", next(os.Getpid()+1))
	require.Contains(t, next(os.Getpid()), " dev\n")
}
