package github_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/salvage"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// box is a sandbox with a repository that omoi-agent's own code creates from the host's bundle and reads.
type box struct {
	*bench

	dir, work string
	repo      *agentconfig.Repo
}

func (b *bench) box(branch scm.Branch) *box {
	b.t.Helper()
	var in bytes.Buffer
	require.NoError(b.t, b.host.Bundle(b.t.Context(), repo, branch.Name, "", &in))
	x := &box{bench: b, dir: b.t.TempDir(), work: b.t.TempDir()}
	x.repo = &agentconfig.Repo{Branch: branch.Name, Base: branch.Base, Bundle: filepath.Join(x.dir, "in.bundle")}
	require.NoError(b.t, os.WriteFile(x.repo.Bundle, in.Bytes(), 0o600))
	err := workspace.Prepare(b.t.Context(), x.dir, x.work, x.repo)
	require.NoError(b.t, err)
	return x
}

// collect gathers the work as at the end of an attempt, and opens the bundle.
func (x *box) collect() (agentconfig.Collected, *os.File) {
	x.t.Helper()
	got, err := salvage.Collect(x.t.Context(), salvage.Config{Dir: x.dir, Workspace: x.work, Repo: x.repo})
	require.NoError(x.t, err)
	out, err := os.Open(got.Bundle)
	require.NoError(x.t, err)
	x.t.Cleanup(func() { _ = out.Close() })
	return got, out
}

// begin commits files and index entries to main, and returns a task's branch from there.
func (b *bench) begin(files map[string]string, entries ...string) scm.Branch {
	b.t.Helper()
	person := b.person("main")
	for name, content := range files {
		require.NoError(b.t, os.WriteFile(filepath.Join(person, name), []byte(content), 0o600))
		git(b.t, person, "add", "--", name)
	}
	for _, entry := range entries {
		git(b.t, person, "update-index", "--add", "--cacheinfo", entry)
	}
	git(b.t, person, "commit", "--quiet", "-m", "odd")
	git(b.t, person, "push", "--quiet", "origin", "main")
	return b.ensure("t1")
}

const subCommit = "0123456789012345678901234567890123456789"

// TestSubmodules checks that a submodule is an empty folder for the agent, that its commit stays unchanged, and that
// files which the agent writes into the folder are saved.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.begin(map[string]string{".gitmodules": "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.invalid/lib.git\n"},
		"160000,"+subCommit+",lib")
	x := b.box(branch)
	inside, err := os.ReadDir(filepath.Join(x.work, "lib"))
	require.NoError(t, err)
	require.Empty(t, inside)
	require.Empty(t, git(t, x.work, "status", "--porcelain"))
	x.commit(x.work, "agent.txt", "agent")
	got, bundle := x.collect()
	require.Zero(t, got.Files)
	require.Empty(t, got.Notes)
	require.Equal(t, 1, got.Commits)
	head, err := b.host.Push(t.Context(), repo, branch.Name, bundle)
	require.NoError(t, err)
	require.Equal(t, got.Head, head)
	require.Contains(t, git(t, b.bare, "ls-tree", head, "lib"), "160000 commit "+subCommit)

	require.NoError(t, os.WriteFile(filepath.Join(x.work, "lib", "new.txt"), []byte("new"), 0o600))
	got, bundle = x.collect()
	require.Contains(t, strings.Join(got.Notes, " "), `"lib" is a separate repository`)
	ref, err := b.host.Rescue(t.Context(), repo, "t1/1", bundle)
	require.NoError(t, err)
	require.Equal(t, "new", git(t, b.bare, "show", ref+":lib/new.txt"))
}

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// TestPointersOfLFS checks that the agent sees Git LFS files as pointers, which stay unchanged.
func TestPointersOfLFS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.begin(map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "large.bin": pointer})
	before := b.head("main:large.bin")
	x := b.box(branch)
	seen, err := os.ReadFile(filepath.Join(x.work, "large.bin"))
	require.NoError(t, err)
	require.Equal(t, pointer, string(seen))
	git(t, x.work, "mv", "large.bin", "moved.bin")
	x.commit(x.work, "agent.txt", "agent")
	got, bundle := x.collect()
	require.Zero(t, got.Files)
	_, err = b.host.Push(t.Context(), repo, branch.Name, bundle)
	require.NoError(t, err)
	require.Equal(t, before, b.head(branch.Name+":moved.bin"))
	git(t, b.bare, "fsck", "--strict")
}

// refuses makes the server reject every push with these words.
func (b *bench) refuses(words string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Join(b.bare, "hooks"), 0o750))
	hook := "#!/bin/sh\ncat >&2 <<'E'\n" + words + "\nE\nexit 1\n"
	require.NoError(b.t, os.WriteFile(filepath.Join(b.bare, "hooks", "pre-receive"), []byte(hook), 0o700))
}

// TestPush_RefusedByGitHub checks that a rejected push is a conflict, which is not retried, with GitHub's words and the
// next step.
func TestPush_RefusedByGitHub(t *testing.T) {
	t.Parallel()
	for words, next := range map[string]string{
		"error: File big.bin is 120.00 MB; this exceeds GitHub's file size limit of 100.00 MB\nerror: GH001: Large files detected.": "without that file",
		"error: GH008: Your push referenced at least 1 unknown Git LFS object:\nerror:     4d7a214614ab2935":                        "new Git LFS files",
		"error: GH013: Repository rule violations found for refs/heads/x.\nerror: - Push cannot contain secrets":                    "without the secret",
		"error: GH013: Repository rule violations found for refs/heads/x.\nerror: - Commits must have verified signatures.":         "settings/rules",
		"error: GH006: Protected branch update failed for refs/heads/x.\nerror: Required status check \"ci\" is expected.":          "settings/rules",
	} {
		b := setup(t)
		branch := b.ensure("t1")
		x := b.box(branch)
		x.commit(x.work, "agent.txt", strings.Repeat("agent ", 10))
		_, bundle := x.collect()
		b.refuses(words)
		_, err := b.host.Push(t.Context(), repo, branch.Name, bundle)
		requireCode(t, task.CodeConflict, err)
		require.NotErrorIs(t, err, scm.ErrMoved)
		require.Contains(t, task.MessageOf(err), words[7:20])
		require.Contains(t, task.MessageOf(err), next)
		require.Equal(t, branch.Base, b.head("refs/heads/"+branch.Name))
	}
}

// TestRescue_KeepsCommitsOfTheBranch saves uncommitted work on another branch together with the commits of the task's
// branch.
func TestRescue_KeepsCommitsOfTheBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	x := b.box(branch)
	commit := x.commit(x.work, "agent.txt", "agent")
	git(t, x.work, "checkout", "--quiet", "-b", "elsewhere", branch.Base)
	require.NoError(t, os.WriteFile(filepath.Join(x.work, "half.txt"), []byte("half"), 0o600))
	got, bundle := x.collect()
	require.Equal(t, commit, got.Head)
	ref, err := b.host.Rescue(t.Context(), repo, "t1/1", bundle)
	require.NoError(t, err)
	require.Equal(t, "half", git(t, b.bare, "show", ref+":half.txt"))
	head, err := b.host.Promote(t.Context(), repo, branch.Name, ref, got.Head)
	require.NoError(t, err)
	require.Equal(t, commit, head)
}
