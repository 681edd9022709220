package localgit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestCheckAcceptsWorkingCopiesAndBareRepositories(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bare := filepath.Join(realTemp(t), "bare.git")
	git(t, "", "clone", "--quiet", "--bare", b.path, bare)
	tree := filepath.Join(realTemp(t), "tree")
	git(t, b.path, "worktree", "add", "--quiet", tree)
	link := filepath.Join(realTemp(t), "link")
	require.NoError(t, os.Symlink(b.path, link))
	for _, path := range []string{b.path, bare, tree, link, b.path + "/"} {
		require.NoError(t, b.host.Check(t.Context(), scm.Repo(path)), path)
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inside := filepath.Join(b.path, "inside")
	require.NoError(t, os.Mkdir(inside, 0o750))
	empty := setup(t, "--bare")
	shallow := filepath.Join(realTemp(t), "shallow")
	b.commit(b.path, "two.txt", "2")
	git(t, "", "clone", "--quiet", "--depth=1", "file://"+b.path, shallow)
	for path, says := range map[string]string{
		"relative":                         "absolute path",
		b.path + "\n":                      "control characters",
		filepath.Join(b.path, "nowhere"):   "nothing at",
		inside:                             "Next: give " + b.path,
		realTemp(t):                        "not a git repository",
		filepath.Join(b.path, "README.md"): "is a file",
		empty.path:                         "no commits yet",
		shallow:                            "--unshallow",
	} {
		err := b.host.Check(t.Context(), scm.Repo(path))
		requireCode(t, task.CodeInvalid, err)
		require.ErrorContains(t, err, says, path)
		require.NotContains(t, task.MessageOf(err), "fatal:", "git's own words are the private cause")
	}
}

// Commands in hints can be copied as they stand.
func TestHintsQuotePaths(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spaced := filepath.Join(realTemp(t), "my work")
	says := func(path, want string) {
		t.Helper()
		require.ErrorContains(t, b.host.Check(t.Context(), scm.Repo(path)), want)
	}
	says(spaced, "Next: git clone <url> '"+spaced+"', or git init '"+spaced+"'")
	sub := filepath.Join(spaced, "sub")
	require.NoError(t, os.MkdirAll(sub, 0o750))
	says(spaced, "or run git init '"+spaced+"'")
	git(t, "", "init", "--quiet", spaced)
	says(spaced, "git -C '"+spaced+"' commit")
	says(sub, "Next: give '"+spaced+"'")
}

func TestCheckOfAnUnreadableRepository(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root can read everything; run the tests as an ordinary user too")
	}
	b := setup(t)
	require.NoError(t, os.Chmod(b.path, 0))
	t.Cleanup(func() { _ = os.Chmod(b.path, 0o700) })
	err := b.host.Check(t.Context(), b.repo)
	requireCode(t, task.CodeInvalid, err)
	require.ErrorContains(t, err, "cannot be read")
}

func TestCheckOfAReadOnlyRepository(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root can write everything; run the tests as an ordinary user too")
	}
	b := setup(t)
	gitDir := filepath.Join(b.path, ".git")
	require.NoError(t, os.Chmod(gitDir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(gitDir, 0o700) })
	err := b.host.Check(t.Context(), b.repo)
	requireCode(t, task.CodeInvalid, err)
	require.ErrorContains(t, err, "cannot be written")
}

// As root we work as the owner of the repository and leave nothing behind that is root's.
func TestRootWorksAsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can work on behalf of another user")
	}
	const nobody = 65534
	b := setup(t)
	for dir := filepath.Dir(b.path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	each(t, b.path, func(path string) { require.NoError(t, os.Lchown(path, nobody, nobody)) })
	branch := b.ensure("t1")
	_, err := b.host.EnsurePull(t.Context(), b.repo, scm.PullRequest{Head: branch.Name})
	require.NoError(t, err)
	each(t, b.path, func(path string) {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		stat, ok := info.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		require.Equal(t, uint32(nobody), stat.Uid, path)
	})
}

func TestRootSaysWhereTheOwnerCannotEnter(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can work on behalf of another user")
	}
	b := setup(t)
	require.NoError(t, os.Chmod(filepath.Dir(b.path), 0o700))
	require.NoError(t, os.Lchown(b.path, 65534, 65534))
	err := b.host.Check(t.Context(), b.repo)
	requireCode(t, task.CodeInvalid, err)
	require.ErrorContains(t, err, "its owner, user 65534")
}

// A repository's owner cannot lead root out of it by a symbolic link.
func TestRecordsStayInTheRepository(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outside := realTemp(t)
	require.NoError(t, os.Symlink(outside, filepath.Join(b.path, ".git", "omoi")))
	_, err := b.host.EnsureBranch(t.Context(), b.request("t1"))
	require.Error(t, err)
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}

func each(t *testing.T, root string, do func(path string)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			do(path)
		}
		return err
	}))
}
