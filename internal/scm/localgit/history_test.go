package localgit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/salvage"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/task"
)

// large is a repository of 40 commits, some of them merges, of which sandboxes get so deep a history.
func large(t *testing.T, depth int) *bench {
	t.Helper()
	b := setup(t)
	b.host = localgit.New(localgit.Config{History: scm.History{Whole: 1, Depth: depth}})
	for n := range 10 {
		b.commit(b.path, "file", strings.Repeat(strconv.Itoa(n), 1000))
		git(t, b.path, "switch", "--quiet", "--create", "side-"+strconv.Itoa(n), "HEAD~1")
		b.commit(b.path, "side-"+strconv.Itoa(n), "side")
		git(t, b.path, "switch", "--quiet", "main")
		git(t, b.path, "merge", "--quiet", "--no-edit", "side-"+strconv.Itoa(n))
	}
	git(t, b.path, "repack", "--quiet", "-a", "-d")
	return b
}

// box is a sandbox's repository as the agent makes it from the host's bundle.
type box struct {
	*bench

	dir, work string
	repo      *agentconfig.Repo
	weighs    int
}

func (b *bench) box(branch scm.Branch) *box {
	b.t.Helper()
	var bundle bytes.Buffer
	require.NoError(b.t, b.host.Bundle(b.t.Context(), b.repo, branch.Name, branch.Base, &bundle))
	dir := realTemp(b.t)
	in := &box{bench: b, dir: dir, work: filepath.Join(dir, "work"), weighs: bundle.Len()}
	in.repo = &agentconfig.Repo{Branch: branch.Name, Base: branch.Base, Bundle: filepath.Join(dir, "in.bundle")}
	require.NoError(b.t, os.WriteFile(in.repo.Bundle, bundle.Bytes(), 0o600))
	err := workspace.Prepare(b.t.Context(), dir, in.work, in.repo)
	require.NoError(b.t, err)
	git(b.t, in.work, "fsck", "--strict")
	git(b.t, filepath.Join(dir, workspace.OriginName), "fsck", "--strict")
	return in
}

// land brings what the agent did to the repository, and answers where the branch is then.
func (b *box) land() string {
	b.t.Helper()
	got, err := salvage.Collect(b.t.Context(), salvage.Config{Dir: b.dir, Workspace: b.work, Repo: b.repo})
	require.NoError(b.t, err)
	out, err := os.Open(got.Bundle)
	require.NoError(b.t, err)
	defer func() { _ = out.Close() }()
	head, err := b.host.Push(b.t.Context(), b.bench.repo, b.repo.Branch, out)
	require.NoError(b.t, err)
	git(b.t, b.path, "fsck", "--strict")
	return head
}

func (b *box) commits() int {
	b.t.Helper()
	n, err := strconv.Atoi(git(b.t, b.work, "rev-list", "--count", "HEAD"))
	require.NoError(b.t, err)
	return n
}

func TestOfALargeRepositoryTheNewestCommitsGoIn(t *testing.T) {
	t.Parallel()
	b := large(t, 4)
	branch := b.ensure("t1")
	in := b.box(branch)
	require.Less(t, in.commits(), 16)
	require.GreaterOrEqual(t, in.commits(), 4)
	require.Equal(t, branch.Base, git(t, in.work, "rev-parse", "HEAD"))

	head := b.commit(in.work, "agent.txt", "agent")
	git(t, in.work, "push", "--quiet")
	require.Equal(t, head, in.land())
	require.Equal(t, head, b.head(branch.Name))
	require.Equal(t, "32", git(t, b.path, "rev-list", "--count", branch.Name), "outside all of it is there")

	again := b.box(branch)
	require.Equal(t, head, again.land(), "an attempt that adds nothing")
}

// However long a task's branch has become: what it began from is there to compare with.
func TestTheHistoryGoesBackToTheBase(t *testing.T) {
	t.Parallel()
	b := large(t, 2)
	branch := b.ensure("t1")
	first := b.box(branch)
	for n := range 6 {
		b.commit(first.work, "agent-"+strconv.Itoa(n), "agent")
	}
	first.land()
	second := b.box(branch)
	require.Equal(t, "6", git(t, second.work, "rev-list", "--count", branch.Base+"..HEAD"))
	require.Equal(t, branch.Base, git(t, second.work, "merge-base", branch.Base, "HEAD"))
	head := b.commit(second.work, "more", "more")
	require.Equal(t, head, second.land())
}

// As root we read somebody else's repository as its owner, and no file of it by ourselves.
func TestAnotherUsersLargeRepository(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can work on behalf of another user")
	}
	b := large(t, 4)
	const nobody = 65534
	for dir := filepath.Dir(b.path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	each(t, b.path, func(path string) { require.NoError(t, os.Lchown(path, nobody, nobody)) })
	branch := b.ensure("t1")
	in := b.box(branch)
	require.Less(t, in.commits(), 16)
	head := b.commit(in.work, "agent.txt", "agent")
	got, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(in.work, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, head, got)
}

// What git would object to in commits that are there already is no reason against new ones.
func TestALargeRepositoryWithOldMistakes(t *testing.T) {
	t.Parallel()
	b := large(t, 4)
	tree, parent := b.head("main^{tree}"), b.head("main")
	raw := "tree " + tree + "\nparent " + parent + "\nauthor nobody 1234567890 +0000\ncommitter A <a@example.invalid> 1234567890 +0000\n\nold\n"
	file := filepath.Join(realTemp(t), "commit")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o600))
	git(t, b.path, "update-ref", "refs/heads/main", git(t, b.path, "hash-object", "-t", "commit", "-w", "--literally", file))
	var bundle bytes.Buffer
	branch := b.ensure("t1")
	require.NoError(t, b.host.Bundle(t.Context(), b.repo, branch.Name, branch.Base, &bundle))
}

// A clone that has become shallow since it was looked at is not changed, and the error says what to do.
func TestAUsersShallowCloneIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := large(t, 4)
	branch := b.ensure("t1")
	require.NoError(t, os.WriteFile(filepath.Join(b.path, ".git", "shallow"), []byte(b.head("main~3")+"\n"), 0o600))
	refs := git(t, b.path, "for-each-ref")
	err := b.host.Bundle(t.Context(), b.repo, branch.Name, branch.Base, new(bytes.Buffer))
	requireCode(t, task.CodeInvalid, err)
	require.ErrorContains(t, err, "--unshallow")
	require.Equal(t, refs, git(t, b.path, "for-each-ref"))
}

// Repositories whose ids are of SHA-256 are worked on like any other.
func TestLongIDs(t *testing.T) {
	t.Parallel()
	for name, history := range map[string]scm.History{"whole": {}, "cut": {Whole: 1, Depth: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "--object-format=sha256")
			b.host = localgit.New(localgit.Config{History: history})
			for n := range 4 {
				b.commit(b.path, "file", strconv.Itoa(n))
			}
			in := b.box(b.ensure("t1"))
			head := b.commit(in.work, "agent.txt", "agent")
			require.Equal(t, head, in.land())
		})
	}
}

func TestASmallRepositoryGoesInWhole(t *testing.T) {
	t.Parallel()
	b := large(t, 4)
	b.host = localgit.New(localgit.Config{History: scm.History{Whole: 1 << 30, Depth: 4}})
	require.Equal(t, 31, b.box(b.ensure("t1")).commits())
}

// A commit that lies as deep as the whole history cuts nothing.
func TestADepthBeyondTheHistory(t *testing.T) {
	t.Parallel()
	b := large(t, 1000)
	in := b.box(b.ensure("t1"))
	require.Equal(t, 31, in.commits())
	require.Equal(t, "false", git(t, in.work, "rev-parse", "--is-shallow-repository"))
	head := b.commit(in.work, "agent.txt", "agent")
	require.Equal(t, head, in.land())
}
