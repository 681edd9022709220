package localgit_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/task"
)

// bench is one repository on branch main with one commit, and the host under test.
type bench struct {
	t    *testing.T
	host *localgit.Host
	path string
	repo scm.Repo
}

func setup(t *testing.T, initArgs ...string) *bench {
	t.Helper()
	path := filepath.Join(realTemp(t), "repo")
	git(t, "", append([]string{"init", "--quiet", "--initial-branch=main", path}, initArgs...)...)
	b := &bench{t: t, host: localgit.New(localgit.Config{}), path: path, repo: scm.Repo(path)}
	if len(initArgs) == 0 {
		b.commit(path, "README.md", "hello\n")
	}
	return b
}

// realTemp is a temporary folder without symbolic links in its path.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// git runs the real git as a user would, without that user's own settings.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid")
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (b *bench) commit(dir, file, content string) string {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
	git(b.t, dir, "add", "--", file)
	git(b.t, dir, "commit", "--quiet", "-m", "Write "+file)
	return git(b.t, dir, "rev-parse", "HEAD")
}

func (b *bench) request(taskID string) scm.BranchRequest {
	return scm.BranchRequest{Repo: b.repo, TicketID: "ticket", Title: "Say hello", TaskID: taskID}
}

func (b *bench) ensure(taskID string) scm.Branch {
	b.t.Helper()
	branch, err := b.host.EnsureBranch(b.t.Context(), b.request(taskID))
	require.NoError(b.t, err)
	return branch
}

func (b *bench) head(ref string) string {
	b.t.Helper()
	return git(b.t, b.path, "rev-parse", ref)
}

// sandbox clones the branch from the host's own bundle, as an agent gets it.
func (b *bench) sandbox(branch string) string {
	b.t.Helper()
	var bundle bytes.Buffer
	require.NoError(b.t, b.host.Bundle(b.t.Context(), b.repo, branch, "", &bundle))
	dir := realTemp(b.t)
	file := filepath.Join(dir, "in.bundle")
	require.NoError(b.t, os.WriteFile(file, bundle.Bytes(), 0o600))
	git(b.t, "", "clone", "--quiet", "--branch", branch, file, filepath.Join(dir, "work"))
	return filepath.Join(dir, "work")
}

// bundle packs revisions of a sandbox's repository.
func (b *bench) bundle(dir string, revs ...string) io.Reader {
	b.t.Helper()
	file := filepath.Join(realTemp(b.t), "out.bundle")
	git(b.t, dir, append([]string{"bundle", "create", "--quiet", file}, revs...)...)
	raw, err := os.ReadFile(file)
	require.NoError(b.t, err)
	return bytes.NewReader(raw)
}

func requireCode(t *testing.T, want task.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, task.CodeOf(err), err.Error())
}

// hashTree writes a tree of one entry that git itself would refuse to make.
func hashTree(t *testing.T, dir, entry, blob string) string {
	t.Helper()
	id, err := hex.DecodeString(blob)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(entry + string(id))
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func gitFails(t *testing.T, dir string, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	return cmd.Run()
}
