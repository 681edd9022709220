package localgit_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestPushTwiceIsOnePush(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	head := b.commit(work, "a.txt", "a")
	for _, revs := range [][]string{{branch.Name}, {branch.Base + ".." + branch.Name}} { // whole, then thin
		for range 2 {
			got, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, revs...))
			require.NoError(t, err)
			require.Equal(t, head, got)
		}
	}
	require.Equal(t, head, b.head(branch.Name))
	ahead, err := b.host.Ahead(t.Context(), b.repo, "", branch.Name)
	require.NoError(t, err)
	require.Equal(t, 1, ahead)
	git(t, b.path, "fsck", "--strict")
}

func TestPush_LinkToAPathWithQuotesAndLineBreaks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	odd := filepath.Join(filepath.Dir(b.path), "\"a\nrepo\\\"\n")
	require.NoError(t, os.Rename(b.path, odd))
	require.NoError(t, os.Symlink(odd, b.path))
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	head := b.commit(work, "a.txt", "a")
	got, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, head, got)
}

func TestPushOfOldWorkChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", "a")
	old := b.bundle(work, branch.Name)
	head := b.commit(work, "b.txt", "b")
	for _, bundle := range []io.Reader{b.bundle(work, branch.Name), old} {
		got, err := b.host.Push(t.Context(), b.repo, branch.Name, bundle)
		require.NoError(t, err)
		require.Equal(t, head, got)
	}
}

func TestPushOfADivergedBranchIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	one, two := b.sandbox(branch.Name), b.sandbox(branch.Name)
	head := b.commit(one, "a.txt", "one")
	_, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(one, branch.Name))
	require.NoError(t, err)
	b.commit(two, "a.txt", "two")
	_, err = b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(two, branch.Name))
	requireCode(t, task.CodeConflict, err)
	require.Equal(t, head, b.head(branch.Name))
}

func TestPushRefusesABranchThatIsCheckedOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", "a")
	git(t, b.path, "switch", "--quiet", branch.Name)
	_, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	requireCode(t, task.CodeConflict, err)
	require.ErrorContains(t, err, "switch --detach")
	require.Empty(t, git(t, b.path, "status", "--porcelain"))
	git(t, b.path, "switch", "--quiet", "--detach")
	_, err = b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	require.NoError(t, err)
}

func TestPushMakesAVanishedBranchAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	head := b.commit(work, "a.txt", "a")
	git(t, b.path, "branch", "-D", branch.Name)
	got, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	require.NoError(t, err)
	require.Equal(t, head, got)
	require.Equal(t, head, b.head(branch.Name))
}

func TestPushRefusesBadBundles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	before := git(t, b.path, "for-each-ref")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", strings.Repeat("a", 1000))
	whole, err := io.ReadAll(b.bundle(work, branch.Name))
	require.NoError(t, err)
	git(t, work, "branch", "other")
	stranger := setup(t)
	git(t, stranger.path, "branch", branch.Name)
	base := stranger.commit(stranger.path, "own.txt", "own")
	stranger.commit(stranger.path, "s.txt", "s")
	git(t, stranger.path, "branch", "-f", branch.Name)
	for name, c := range map[string]struct {
		bundle io.Reader
		code   task.Code
	}{
		"empty":           {strings.NewReader(""), task.CodeInvalid},
		"noise":           {strings.NewReader("\x00noise"), task.CodeInvalid},
		"no refs":         {strings.NewReader("# v2 git bundle\nnoise"), task.CodeNotFound},
		"cut short":       {bytes.NewReader(whole[:len(whole)-30]), task.CodeInvalid},
		"another branch":  {b.bundle(work, "other"), task.CodeNotFound},
		"unknown history": {stranger.bundle(stranger.path, base+".."+branch.Name), task.CodeInvalid},
	} {
		_, err := b.host.Push(t.Context(), b.repo, branch.Name, c.bundle)
		require.Equal(t, c.code, task.CodeOf(err), "%s: %v", name, err)
		require.Equal(t, before, git(t, b.path, "for-each-ref"), name)
	}
	small := localgit.New(localgit.Config{MaxBundle: 10})
	_, err = small.Push(t.Context(), b.repo, branch.Name, bytes.NewReader(whole))
	requireCode(t, task.CodeInvalid, err)
	require.ErrorContains(t, err, "limit of 10 bytes")
}

// A tree that names .git would write into a checkout's own repository.
func TestPushRefusesObjectsThatGitRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	require.NoError(t, os.WriteFile(filepath.Join(work, "config"), []byte("[core]\n"), 0o600))
	blob := git(t, work, "hash-object", "-w", "config")
	tree := hashTree(t, work, "100644 .git\x00", blob)
	bad := git(t, work, "commit-tree", "-p", "HEAD", "-m", "bad", tree)
	git(t, work, "update-ref", "refs/heads/"+branch.Name, bad)
	_, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	requireCode(t, task.CodeInvalid, err)
	require.Equal(t, branch.Head, b.head(branch.Name))
	require.Error(t, gitFails(t, b.path, "cat-file", "-e", bad), "nothing of it may be in the repository")
}

// Git quotes what it refuses: words of the sandbox make no fault of the host of that.
func TestRefusedWork_QuotesAFaultOfTheHost(t *testing.T) {
	t.Parallel()
	const words = "out of memory"
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, ".gitmodules", "[submodule \"../"+words+"\"]\n\tpath = sub\n\turl = https://example.invalid/sub\n")
	_, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	requireCode(t, task.CodeInvalid, err)
	require.ErrorContains(t, err, "../"+words)
	_, err = b.host.Rescue(t.Context(), b.repo, "box", b.bundle(work, branch.Name))
	requireCode(t, task.CodeInvalid, err)

	b.commit(work, ".gitmodules", "")
	git(t, work, "reset", "--quiet", "--soft", branch.Base)
	git(t, work, "commit", "--quiet", "-m", "Good")
	late := failingGit(t, "refs/omoi/incoming", `echo "error: object 12ab: ../`+words+`" >&2; echo "fatal: fsck error in packed object" >&2; exit 128`)
	_, err = late.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name)) // it is refused on its way into the repository
	requireCode(t, task.CodeInvalid, err)
}

func TestPushLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	temp := realTemp(t)
	host := localgit.New(localgit.Config{Scratch: tempdir.Open(temp)})
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", "a")
	_, err := host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	require.NoError(t, err)
	_, err = host.Push(t.Context(), b.repo, branch.Name, strings.NewReader("noise"))
	require.Error(t, err)
	left, err := filepath.Glob(filepath.Join(temp, "*", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestRescueKeepsEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	var refs []string
	for _, content := range []string{"one", "one", "two"} {
		b.commit(work, "wip.txt", content+strings.Repeat(" ", len(refs)/2))
		git(t, work, "update-ref", "refs/omoi/rescue", "HEAD")
		bundle := b.bundle(work, branch.Name, "refs/omoi/rescue")
		raw, err := io.ReadAll(bundle)
		require.NoError(t, err)
		for range 2 {
			ref, err := b.host.Rescue(t.Context(), b.repo, "t1/1", bytes.NewReader(raw))
			require.NoError(t, err)
			refs = append(refs, ref)
		}
		git(t, work, "reset", "--quiet", "--hard", "HEAD^")
	}
	require.Equal(t, "refs/omoi/rescue/t1/1", refs[0])
	require.Equal(t, refs[0], refs[1])
	require.Equal(t, refs[4], refs[5])
	require.NotEqual(t, refs[0], refs[4])
	require.Equal(t, "one", strings.TrimSpace(git(t, b.path, "show", refs[0]+":wip.txt")))
	require.Equal(t, "two", strings.TrimSpace(git(t, b.path, "show", refs[4]+":wip.txt")))
	require.Equal(t, branch.Head, b.head(branch.Name), "rescue moves no branch")
	for _, bad := range []string{"../x", "t1/", "/1", "t1/1/x", "t1/.."} {
		_, err := b.host.Rescue(t.Context(), b.repo, bad, strings.NewReader(""))
		requireCode(t, task.CodeInvalid, err)
	}
}

func TestRescueOfCommitsThatTheBranchDoesNotTake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	commit := b.commit(work, "late.txt", "late")
	for range 2 {
		ref, err := b.host.Rescue(t.Context(), b.repo, "t1/1", b.bundle(work, branch.Name))
		require.NoError(t, err)
		require.Equal(t, "refs/omoi/rescue/t1/1", ref)
	}
	require.Equal(t, commit, b.head("refs/omoi/rescue/t1/1"))
	require.Equal(t, branch.Head, b.head(branch.Name), "rescue moves no branch")
}

func TestEnsurePullTwiceIsOnePull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.ensure("t1"), b.ensure("t2")
	first, err := b.host.EnsurePull(t.Context(), b.repo, scm.PullRequest{Title: "T", Body: "B", Head: one.Name})
	require.NoError(t, err)
	require.Equal(t, scm.PullRequest{
		Number: 1, URL: "file://" + b.path + "#pull/1", Title: "T", Body: "B", Head: one.Name, Base: "main", State: "open",
	}, first)
	again, err := b.host.EnsurePull(t.Context(), b.repo, scm.PullRequest{Title: "other", Head: one.Name})
	require.NoError(t, err)
	require.Equal(t, first, again)
	later, err := b.host.EnsurePull(t.Context(), b.repo, scm.PullRequest{Title: "T", Body: "after a retry", Head: one.Name})
	require.NoError(t, err)
	require.Equal(t, 1, later.Number)
	require.Equal(t, "after a retry", later.Body)
	second, err := b.host.EnsurePull(t.Context(), b.repo, scm.PullRequest{Title: "T", Head: two.Name, Base: "main"})
	require.NoError(t, err)
	require.Equal(t, 2, second.Number)
	_, err = b.host.EnsurePull(t.Context(), b.repo, scm.PullRequest{Head: "nowhere"})
	requireCode(t, task.CodeInvalid, err)
}

func TestDiffShowsWhatTheBranchDid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", "added\n")
	_, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	require.NoError(t, err)
	b.commit(b.path, "unrelated.txt", "main moved on\n")
	git(t, b.path, "config", "diff.external", "false")
	for _, base := range []string{"", "main", branch.Base} {
		var diff bytes.Buffer
		require.NoError(t, b.host.Diff(t.Context(), b.repo, base, branch.Name, &diff))
		require.Contains(t, diff.String(), "+added")
		require.NotContains(t, diff.String(), "unrelated")
	}
	requireCode(t, task.CodeInvalid, b.host.Diff(t.Context(), b.repo, "nowhere", branch.Name, io.Discard))
	requireCode(t, task.CodeInvalid, b.host.Diff(t.Context(), b.repo, "", "--output=x", io.Discard))
}

func TestBundleOfAnUnknownBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	requireCode(t, task.CodeInvalid, b.host.Bundle(t.Context(), b.repo, "nowhere", "", io.Discard))
}
