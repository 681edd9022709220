package localgit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestEnsureBranch_TwiceCreatesOneBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.ensure("t1")
	require.Equal(t, "feature/ticket-say-hello", first.Name)
	require.Equal(t, b.head("main"), first.Base)
	require.Equal(t, first.Base, first.Head)
	require.Equal(t, first, b.ensure("t1"))
	require.Equal(t, "feature/ticket-say-hello\nmain", git(t, b.path, "branch", "--format=%(refname:short)"))
}

func TestEnsureBranchGoesOnWhereTheBranchStands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.ensure("t1")
	work := b.sandbox(first.Name)
	head := b.commit(work, "a.txt", "a")
	_, err := b.host.Push(t.Context(), b.repo, first.Name, b.bundle(work, first.Name))
	require.NoError(t, err)
	b.commit(b.path, "other.txt", "main moved on")
	require.Equal(t, scm.Branch{Name: first.Name, Base: first.Base, Head: head}, b.ensure("t1"))
}

func TestEnsureBranchMakesAVanishedBranchAgainWithItsWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.ensure("t1")
	work := b.sandbox(first.Name)
	head := b.commit(work, "a.txt", "a")
	_, err := b.host.Push(t.Context(), b.repo, first.Name, b.bundle(work, first.Name))
	require.NoError(t, err)
	git(t, b.path, "branch", "-D", first.Name)
	git(t, b.path, "gc", "--quiet", "--prune=now")
	require.Equal(t, scm.Branch{Name: first.Name, Base: first.Base, Head: head}, b.ensure("t1"))
	require.Equal(t, head, b.head(first.Name))
}

func TestEnsureBranchKeepsAVanishedNameForItsTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.ensure("t1")
	git(t, b.path, "branch", "-D", first.Name)
	require.Equal(t, first.Name+"-2", b.ensure("t2").Name)
}

func TestEnsureBranchAdoptsTheKnownBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	base := b.head("main")
	git(t, b.path, "switch", "--quiet", "-c", "feature/known")
	head := b.commit(b.path, "k.txt", "k")
	git(t, b.path, "switch", "--quiet", "main")
	req := b.request("t1")
	req.Known = "feature/known"
	for range 2 {
		got, err := b.host.EnsureBranch(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, scm.Branch{Name: "feature/known", Base: base, Head: head}, got)
	}
	req.TaskID, req.Known = "t2", "feature/lost"
	got, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, scm.Branch{Name: "feature/lost", Base: base, Head: base}, got)
}

func TestEnsureBranch_NumbersTheNameOfAKeyThatIsTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range [][2]string{{"t1", "feature/APP-12-say-hello"}, {"of-another-installation", "feature/APP-12-say-hello-2"}} {
		req := b.request(c[0])
		req.Key = "APP-12"
		branch, err := b.host.EnsureBranch(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, c[1], branch.Name)
	}
}

func TestEnsureBranchOfTwentyTasksAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := make([]string, 40)
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() { // each task asks twice at the same time
			branch, err := localgit.New(localgit.Config{}).EnsureBranch(t.Context(), b.request("t"+strconv.Itoa(i/2)))
			if err == nil {
				names[i] = branch.Name
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i := 0; i < len(names); i += 2 {
		require.NotEmpty(t, names[i])
		require.Equal(t, names[i], names[i+1])
		require.False(t, seen[names[i]], names[i])
		seen[names[i]] = true
	}
	require.True(t, seen["feature/ticket-say-hello"])
	require.True(t, seen["feature/ticket-say-hello-20"])
}

func TestEnsureBranchAvoidsBranchesOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	git(t, b.path, "branch", "feature/ticket-say-hello")
	git(t, b.path, "update-ref", "refs/remotes/origin/feature/ticket-say-hello-2", "main")
	for i := range 40 {
		git(t, b.path, "branch", "filler-"+strconv.Itoa(i))
	}
	git(t, b.path, "pack-refs", "--all")
	require.Equal(t, "feature/ticket-say-hello-3", b.ensure("t1").Name)
}

func TestEnsureBranchWhereABranchIsCalledLikeThePrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	git(t, b.path, "branch", "feature")
	require.Equal(t, "omoi-feature/ticket-say-hello", b.ensure("t1").Name)
}

func TestEnsureBranchTouchesNoWorkingCopy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, os.WriteFile(filepath.Join(b.path, "README.md"), []byte("half done\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(b.path, "new.txt"), []byte("new\n"), 0o600))
	before := git(t, b.path, "status", "--porcelain", "--branch")
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "README.md", "from the agent\n")
	_, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	require.NoError(t, err)
	require.Equal(t, before, git(t, b.path, "status", "--porcelain", "--branch"))
	require.NotContains(t, git(t, b.path, "show", branch.Name), "half done")
}

func TestEnsureBranchBeginsAtTheDefaultBranch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	main := b.head("main")
	git(t, b.path, "switch", "--quiet", "-c", "mine")
	mine := b.commit(b.path, "m.txt", "m")
	require.Equal(t, main, b.ensure("t1").Base, "a person's own branch is no default")

	req := b.request("t2")
	req.From = "mine"
	branch, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, mine, branch.Base)

	git(t, b.path, "update-ref", "refs/remotes/origin/mine", "mine")
	git(t, b.path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/mine")
	require.Equal(t, mine, b.ensure("t3").Base, "the origin's default comes first")
	git(t, b.path, "update-ref", "-d", "refs/remotes/origin/mine")
	require.Equal(t, mine, b.ensure("t4").Base, "also if the origin's branch is not there")

	req = b.request("t5")
	req.From = "nowhere"
	_, err = b.host.EnsureBranch(t.Context(), req)
	requireCode(t, task.CodeInvalid, err)
}

func TestEnsureBranchOfABareRepositoryWithAnUnusualDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	git(t, b.path, "branch", "production")
	bare := filepath.Join(realTemp(t), "bare.git")
	git(t, "", "clone", "--quiet", "--bare", b.path, bare)
	git(t, bare, "symbolic-ref", "HEAD", "refs/heads/production")
	git(t, bare, "branch", "-D", "main")
	req := b.request("t1")
	req.Repo = scm.Repo(bare)
	branch, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, b.head("production"), branch.Base)
}

func TestEnsureBranchRunsNoHook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	proof := filepath.Join(realTemp(t), "ran")
	for _, hook := range []string{"reference-transaction", "post-update", "update"} {
		body := "#!/bin/sh\ntouch " + proof + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(b.path, ".git", "hooks", hook), []byte(body), 0o700))
	}
	b.ensure("t1")
	require.NoFileExists(t, proof)
}

func TestEnsureBranchWaitsForAForeignLock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	lock := filepath.Join(b.path, ".git", "refs", "heads", branch.Name+".lock")
	git(t, b.path, "branch", "-D", branch.Name)
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o750))
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	done := make(chan error, 1)
	go func() {
		_, err := b.host.EnsureBranch(t.Context(), b.request("t1"))
		done <- err
	}()
	require.NoError(t, os.Remove(lock))
	require.NoError(t, <-done)
}

func TestEnsureBranchRefusesIdsThatAreNoNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"", "../x", "a/b", "a b", "a..b", "a.lock", "-x"} {
		_, err := b.host.EnsureBranch(t.Context(), b.request(id))
		requireCode(t, task.CodeInvalid, err)
	}
}

func TestABranchThatAPersonHasCheckedOutIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, err := b.host.EnsureBranch(t.Context(), b.request("01-task"))
	require.NoError(t, err)
	git(t, b.path, "switch", "--quiet", made.Name)
	busy, err := b.host.EnsureBranch(t.Context(), b.request("01-task"))
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorIs(t, err, scm.ErrCheckedOut)
	require.ErrorContains(t, err, "switch --detach")
	require.Equal(t, made, busy)
	git(t, b.path, "switch", "--quiet", "--detach")
	again, err := b.host.EnsureBranch(t.Context(), b.request("01-task"))
	require.NoError(t, err)
	require.Equal(t, made.Name, again.Name)
}

func TestEnsureBranch_StartsAtACommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began := b.head("main")
	b.commit(b.path, "later.txt", "later")
	first := b.ensure("t1")
	req := b.request("t1-1")
	req.At = began
	want := scm.Branch{Name: first.Name + "-2", Base: began, Head: began}
	for range 2 {
		got, err := b.host.EnsureBranch(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	req.Known, req.At = want.Name, b.head("main")
	got, err := b.host.EnsureBranch(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, want, got, "a branch that exists stays where it is")
	require.Equal(t, first, b.ensure("t1"))

	head, err := b.host.Head(t.Context(), b.repo, "")
	require.NoError(t, err)
	require.Equal(t, b.head("main"), head)
	head, err = b.host.Head(t.Context(), b.repo, want.Name)
	require.NoError(t, err)
	require.Equal(t, began, head)
	_, err = b.host.Head(t.Context(), b.repo, "nowhere")
	requireCode(t, task.CodeInvalid, err)

	req = b.request("t2")
	req.At = strings.Repeat("a", 40)
	_, err = b.host.EnsureBranch(t.Context(), req)
	requireCode(t, task.CodeConflict, err)
	require.ErrorContains(t, err, "no longer has commit aaaa")
}

func TestBundleHead(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--object-format=sha256"}} {
		b := setup(t, args...)
		b.commit(b.path, "a.txt", "a")
		branch := b.ensure("t1")
		var bundle bytes.Buffer
		require.NoError(t, b.host.Bundle(t.Context(), b.repo, branch.Name, "", &bundle))
		require.Equal(t, branch.Head, scm.BundleHead(bundle.Bytes(), branch.Name))
		require.Empty(t, scm.BundleHead(bundle.Bytes(), "main"))
	}
	require.Empty(t, scm.BundleHead([]byte("no bundle"), "main"))
}
