package migrations_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFrozenFilesStayAsTheyAre compares migrations, recorded histories and encoded states with those of the commit since which they are frozen: the one
// in which FROZEN got its text.
func TestFrozenFilesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("../.git"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: the source is an archive without a git history")
	}
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", ".."}, args...)...).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	text := git("rev-parse", "HEAD:migrations/FROZEN")
	since, _, _ := strings.Cut(git("log", "--reverse", "--format=%H", "--find-object="+text, "--", "migrations/FROZEN"), "\n")
	require.NotEmpty(t, since, "FROZEN was never committed")
	require.Empty(t, git("diff", "--diff-filter=a", "--name-status", since, "--", "migrations/*.sql", "workflows/testdata/histories", "internal/contract/testdata"),
		"frozen files were changed or removed; add a new one instead (docs/decisions/0075-frozen-forms.md)")
}
