package testsides_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/testsides"
)

// repository is a repository with a branch "work" that a test changes.
type repository struct {
	t   *testing.T
	dir string
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	out, err := exec.CommandContext(r.t.Context(), "git", append([]string{"-C", r.dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// commit writes files, removes those without content, and returns the commit.
func (r repository) commit(files map[string]string) string {
	r.t.Helper()
	for name, content := range files {
		path := filepath.Join(r.dir, name)
		require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		if content == "" {
			require.NoError(r.t, os.Remove(path))
			continue
		}
		require.NoError(r.t, os.WriteFile(path, []byte(content), 0o600))
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "c")
	return r.git("rev-parse", "HEAD")
}

func TestPrepare_PutsTheTestSideOfTheBaseCommitOverTheWork(t *testing.T) {
	t.Parallel()
	begin := map[string]string{"code.go": "old", "code_test.go": "strict", "testdata/a b.golden": "1", "tests/gone.sh": "x"}
	for name, c := range map[string]struct {
		work    map[string]string
		changed []string
		added   int
		mixed   string // files and contents of the work with the test side of the base commit
	}{
		"code alone": {map[string]string{"code.go": "new"}, nil, 0, ""},
		"tests": {
			map[string]string{"code.go": "new", "code_test.go": "weak", "testdata/a b.golden": "2", "tests/gone.sh": "", "tests/more.sh": "y"},
			[]string{"code_test.go", "testdata/a b.golden", "tests/gone.sh"},
			1, "code.go=new code_test.go=strict testdata/a b.golden=1 tests/gone.sh=x",
		},
		"moved test": {map[string]string{"code_test.go": "", "other_test.go": "strict"}, []string{"code_test.go"}, 1, "code.go=old code_test.go=strict testdata/a b.golden=1 tests/gone.sh=x"},
	} {
		r := repository{t, t.TempDir()}
		r.git("init", "-q", "-b", "work")
		base := r.commit(begin)
		head := r.commit(c.work)
		box := t.TempDir()
		bundle, work := filepath.Join(box, "in.bundle"), filepath.Join(box, "work")
		r.git("bundle", "create", "-q", bundle, "work")
		sides, err := testsides.Prepare(t.Context(), box, work, &agentconfig.Repo{Branch: "work", Base: base, Bundle: bundle}, head)
		require.NoError(t, err, name)
		require.Equal(t, []any{c.changed, c.added, 3}, []any{sides.Changed, sides.Added, sides.Tests}, name)
		require.Equal(t, r.git("rev-parse", head+"^{tree}"), sides.Own)
		require.Equal(t, r.git("rev-parse", base+"^{tree}"), sides.Base)
		if c.mixed == "" {
			require.Equal(t, sides.Own, sides.WithBase, name)
			continue
		}
		box2 := repository{t, work}
		box2.git("read-tree", "-u", "--reset", sides.WithBase)
		var files []string
		for path := range strings.SplitSeq(strings.TrimSuffix(box2.git("ls-files", "-z"), "\x00"), "\x00") {
			content, err := os.ReadFile(filepath.Join(work, path))
			require.NoError(t, err)
			files = append(files, path+"="+string(content))
		}
		require.Equal(t, c.mixed, strings.Join(files, " "), name)
	}
}

func TestPrepare_NamesAnUnknownCommit(t *testing.T) {
	t.Parallel()
	r := repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "work")
	base := r.commit(map[string]string{"code.go": "old"})
	box := t.TempDir()
	bundle := filepath.Join(box, "in.bundle")
	r.git("bundle", "create", "-q", bundle, "work")
	_, err := testsides.Prepare(t.Context(), box, filepath.Join(box, "work"), &agentconfig.Repo{Branch: "work", Base: base, Bundle: bundle}, strings.Repeat("0", 39)+"1")
	require.ErrorContains(t, err, "find commit")
}
