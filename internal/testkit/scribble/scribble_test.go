package scribble_test

import (
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/testkit/scribble"
)

// TestMoment_KnowsOnlyRealStates runs the program, and compares what it leaves with the states in which it can be.
func TestMoment_KnowsOnlyRealStates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(line string) string {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	const changes = 60
	run("git init -q .; told() { :; }; " + strings.ReplaceAll(scribble.Program, "sleep 0.05\ndone", "[ $k -lt 60 ] || exit 0; done"))
	in, rest := scribble.Parse(run(scribble.List)).In("w1")
	require.Empty(t, rest.Files)
	require.Len(t, in.Staged, 3)
	at, ok := in.Moment(true)
	require.True(t, ok, in)
	require.Equal(t, changes, at.Change)
	require.WithinDuration(t, time.Now(), at.At, time.Minute)

	for path, is := range in.Files { // another content, another mode, another kind
		torn := scribble.Listing{Files: maps.Clone(in.Files), Staged: in.Staged}
		for _, torn.Files[path] = range []string{is + "Cg==", "x" + is[1:], "-" + is[1:], "l" + is[1:]} {
			_, ok := torn.Moment(true)
			require.Equal(t, torn.Files[path] == is, ok, path)
		}
	}
	in.Staged["f0"], in.Staged["f1"] = in.Staged["f1"], in.Staged["f0"]
	_, ok = in.Moment(true)
	require.False(t, ok, "another index")
	_, ok = in.Moment(false)
	require.True(t, ok)
}
