package github_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/scm/mirror"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

const (
	whole  = 1_000_000 // what the history of these tests weighs at least
	little = 200_000
)

// mirrored is a bench with a long history and a host that keeps mirrors, through a proxy that counts what the server answers.
type mirrored struct {
	*bench

	host    *github.Host
	store   *mirror.Store
	bytes   *atomic.Int64
	mirrors string
}

func setupMirrored(t *testing.T) *mirrored {
	t.Helper()
	m := &mirrored{bench: setup(t), mirrors: filepath.Join(t.TempDir(), "repos")}
	m.grow("main", m.head("main"), 100)
	m.store = mirror.New(m.mirrors, 1<<30)
	m.store.Patience = time.Hour // no test depends on speed
	m.host, m.bytes = m.metered(m.store)
	return m
}

// fetched writes a branch as a bundle, sees that it is whole, and answers what the server sent for it.
func (m *mirrored) fetched(branch string) int64 {
	m.t.Helper()
	m.bytes.Store(0)
	var out bytes.Buffer
	require.NoError(m.t, m.host.Bundle(m.t.Context(), repo, branch, "", &out))
	m.checkBundle(branch, out.Bytes())
	return m.bytes.Load()
}

func (m *mirrored) checkBundle(branch string, bundle []byte) {
	m.t.Helper()
	dir := m.t.TempDir()
	file := filepath.Join(dir, "in.bundle")
	require.NoError(m.t, os.WriteFile(file, bundle, 0o600))
	git(m.t, "", "clone", "--quiet", "--bare", "--branch", branch, file, filepath.Join(dir, "work"))
	require.Equal(m.t, m.head("refs/heads/"+branch), git(m.t, filepath.Join(dir, "work"), "rev-parse", "HEAD"))
}

// copy is the only mirror that there is.
func (m *mirrored) copy() string {
	m.t.Helper()
	found, err := filepath.Glob(filepath.Join(m.mirrors, "*", "copy.git"))
	require.NoError(m.t, err)
	require.Len(m.t, found, 1)
	return found[0]
}

func TestTheNextTaskFetchesWhatIsNew(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	first := m.ensure("t1")
	require.Greater(t, m.fetched(first.Name), int64(whole))
	m.grow("main", m.head("main"), 1)
	second := m.ensure("t2")
	require.NotEqual(t, first.Base, second.Base)
	require.Less(t, m.fetched(second.Name), int64(little))

	dir := m.sandbox(second.Name)
	head := m.commit(dir, "agent.txt", "agent")
	m.bytes.Store(0)
	got, err := m.host.Push(t.Context(), repo, second.Name, m.bundle(dir, second.Base+".."+second.Name))
	require.NoError(t, err)
	require.Equal(t, head, got)
	require.Equal(t, head, m.head("refs/heads/"+second.Name))
	ref, err := m.host.Rescue(t.Context(), repo, "t2/1", m.bundle(dir, second.Base+".."+second.Name))
	require.NoError(t, err)
	require.Equal(t, head, m.head(ref))
	require.Less(t, m.bytes.Load(), int64(little))
	m.leavesNothing()
}

// Each use asks the server with its own token before anything is given out, also where all of it is here.
func TestNobodyBorrowsWhatHeMayNotRead(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	m.fetched(branch.Name)
	dir := m.sandbox(branch.Name)
	m.commit(dir, "agent.txt", "agent")
	refused := func(want task.Code) {
		var out bytes.Buffer
		requireCode(t, want, m.host.Bundle(t.Context(), repo, branch.Name, "", &out))
		require.Zero(t, out.Len())
		_, err := m.host.Push(t.Context(), repo, branch.Name, m.bundle(dir, branch.Base+".."+branch.Name))
		requireCode(t, want, err)
		_, err = m.host.Rescue(t.Context(), repo, "t1/1", m.bundle(dir, branch.Base+".."+branch.Name))
		requireCode(t, want, err)
	}
	m.server.Revoke(token)
	refused(task.CodeForbidden)
	m.server.Grant(token, "acme/other", "push") // the token is good again, for something else
	refused(task.CodeInvalid)
	require.Equal(t, branch.Base, m.head("refs/heads/"+branch.Name))
	m.server.Grant(token, string(repo), "push")
	require.Less(t, m.fetched(branch.Name), int64(little), "a refusal says nothing of the mirror")
	before := m.looks()
	_, err := m.host.Rescue(t.Context(), repo, "t1/1", m.bundle(dir, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, before+2, m.looks(), "the mirror asks, and the copy, where only commits are needed that are here")
	m.leavesNothing()
}

// looks are how often git asked the server what it has.
func (m *mirrored) looks() (n int) {
	for _, call := range m.server.Calls() {
		if call == "POST git-upload-pack" {
			n++
		}
	}
	return n
}

// Who gets a name that was another repository's gets nothing of that.
func TestAnotherRepositoryOfTheSameNameBorrowsNothing(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	m.fetched(branch.Name)
	dir := m.sandbox(branch.Name)
	m.commit(dir, "agent.txt", "agent")
	require.NoError(t, os.RemoveAll(m.bare))
	_, err := m.server.Add(string(repo))
	require.NoError(t, err)
	git(t, m.bare, "branch", branch.Name, "main")
	_, err = m.host.Push(t.Context(), repo, branch.Name, m.bundle(dir, branch.Base+".."+branch.Name))
	requireCode(t, task.CodeInvalid, err)
	require.Less(t, m.fetched(branch.Name), int64(little), "there is not more of it")
}

// cutBundle kills git in the middle of its fetch.
func (m *mirrored) cutBundle(branch string) {
	m.t.Helper()
	ctx, cut := context.WithCancel(m.t.Context())
	defer cut()
	m.server.Watch(func(call string) {
		if held, _ := os.ReadDir(m.mirrors); len(held) > 0 && call == "POST git-upload-pack" {
			cut()
		}
	})
	defer m.server.Watch(nil)
	require.ErrorIs(m.t, m.host.Bundle(ctx, repo, branch, "", io.Discard), context.Canceled)
}

func TestAFetchIsKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	m.cutBundle(branch.Name)
	require.Greater(t, m.fetched(branch.Name), int64(whole))
	require.Less(t, m.fetched(branch.Name), int64(little))

	m.grow("main", m.head("main"), 1)
	branch = m.ensure("t2")
	m.cutBundle(branch.Name)
	for _, left := range []string{"objects/pack/tmp_pack_Qx1", "packed-refs.lock", "refs/mirror/HEAD.lock", "HEAD.lock"} {
		require.NoError(t, os.WriteFile(filepath.Join(m.copy(), left), []byte("half"), 0o600))
	}
	require.Less(t, m.fetched(branch.Name), int64(little), "it goes on where it was")
	require.NoFileExists(t, filepath.Join(m.copy(), "objects/pack/tmp_pack_Qx1"))
	m.leavesNothing()
}

// Whatever is wrong with a mirror, tasks get their branches whole, and the mirror is good again after one or two uses.
func TestADamagedMirrorIsMadeAnew(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	m.fetched(branch.Name)
	for name, damage := range map[string]func(pack string){
		"cut":   func(pack string) { m.write(pack, func(b []byte) []byte { return b[:len(b)/2] }) },
		"bit":   func(pack string) { m.write(pack, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }) },
		"gone":  func(pack string) { require.NoError(t, os.Remove(pack)) },
		"index": func(pack string) { require.NoError(t, os.Remove(strings.TrimSuffix(pack, "pack")+"idx")) },
		"more": func(pack string) {
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(pack), "pack-1.pack"), []byte("PACK"), 0o600))
		},
		"note": func(string) { require.NoError(t, os.Remove(filepath.Join(m.copy(), "..", "used"))) },
		"head": func(string) { require.NoError(t, os.Remove(filepath.Join(m.copy(), "HEAD"))) },
		"ref": func(string) {
			require.NoError(t, os.WriteFile(filepath.Join(m.copy(), "refs/mirror/HEAD"), []byte(subCommit+"\n"), 0o600))
		},
	} {
		packs, err := filepath.Glob(filepath.Join(m.copy(), "objects/pack/*.pack"))
		require.NoError(t, err)
		require.Len(t, packs, 1, name)
		damage(packs[0])
		m.fetched(branch.Name)
		m.fetched(branch.Name)
		require.Less(t, m.fetched(branch.Name), int64(little), name)
	}
	m.leavesNothing()
}

func (m *mirrored) write(file string, change func([]byte) []byte) {
	m.t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(m.t, err)
	require.NoError(m.t, os.Chmod(file, 0o600))
	require.NoError(m.t, os.WriteFile(file, change(raw), 0o600))
}

func TestTasksThatBeginAtOnceFetchOnce(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	var all sync.WaitGroup
	bundles := make([]bytes.Buffer, 4)
	errs := make([]error, len(bundles))
	for n := range bundles {
		all.Go(func() { errs[n] = m.host.Bundle(t.Context(), repo, branch.Name, "", &bundles[n]) })
	}
	all.Wait()
	for n := range bundles {
		require.NoError(t, errs[n])
		m.checkBundle(branch.Name, bundles[n].Bytes())
	}
	require.Less(t, m.bytes.Load(), int64(whole+whole/2))
	m.leavesNothing()
}

// Somebody's fetch that hangs, or that a killed worker left behind, holds up no other task of the repository.
func TestAFetchThatDoesNotEndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	m.fetched(branch.Name)
	held, err := os.OpenFile(filepath.Join(m.copy(), "..", "fetch"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	require.NoError(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
	m.store.Patience = time.Millisecond
	require.Greater(t, m.fetched(branch.Name), int64(whole))
	dir := m.sandbox(branch.Name)
	head := m.commit(dir, "agent.txt", "agent")
	ref, err := m.host.Rescue(t.Context(), repo, "t1/1", m.bundle(dir, branch.Base+".."+branch.Name))
	require.NoError(t, err)
	require.Equal(t, head, m.head(ref))
	m.store.Patience = time.Hour
	require.NoError(t, syscall.Flock(int(held.Fd()), syscall.LOCK_UN))
	require.Less(t, m.fetched(branch.Name), int64(little), "the mirror is as good as it was")
	m.leavesNothing()
}

// A mirror has objects and refs, is closed to others, and knows neither tokens nor addresses (P8).
func TestAMirrorHoldsNoSecret(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	m.fetched(branch.Name)
	files := 0
	require.NoError(t, filepath.WalkDir(m.mirrors, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.IsDir() {
			return nil
		}
		files++
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(raw), token, path)
		require.NotContains(t, string(raw), "127.0.0.1", path)
		return nil
	}))
	require.Greater(t, files, 5)
	for _, dir := range []string{m.mirrors, filepath.Dir(m.copy())} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
}

// A server whose API does not answer costs the mirror, not the work.
func TestWithoutTheIDNothingIsBorrowed(t *testing.T) {
	t.Parallel()
	m := setupMirrored(t)
	branch := m.ensure("t1")
	m.server.Break(githubtest.Fault{Call: "GET app", Status: http.StatusBadGateway})
	require.Greater(t, m.fetched(branch.Name), int64(whole))
	_, err := os.Stat(m.mirrors)
	require.ErrorIs(t, err, os.ErrNotExist)
}
