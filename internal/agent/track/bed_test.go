package track_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/track"
)

// bed is a work tree with a tracker, and a second shadow that says what the tree is.
type bed struct {
	t    *testing.T
	work string
	*track.Tracker

	truth *gitcmd.Shadow
	last  string         // tree of the last call of changed
	taken track.Snapshot // the last one
}

// never is long enough that no scan is due by itself.
const never = 24 * time.Hour

// newBed returns a bed whose work tree has one commit of the files. The format is that of object names; empty: no repository.
func newBed(t *testing.T, format string, files map[string]string, more ...func(*track.Config)) *bed {
	t.Helper()
	b := &bed{t: t, work: t.TempDir()}
	for name, content := range files {
		b.write(name, content)
	}
	if format != "" {
		b.git("init", "-q", "-b", "main", "--object-format="+format)
		b.git("add", "-A")
		b.git("commit", "-qm", "first")
	}
	b.truth = b.shadow(gitcmd.Caps{})
	b.want() // so that both begin with the same files
	b.open(gitcmd.Caps{}, more...)
	return b
}

// open opens the tracker.
func (b *bed) open(caps gitcmd.Caps, more ...func(*track.Config)) {
	b.t.Helper()
	cfg := track.Config{Shadow: b.shadow(caps), Scan: never, Log: slog.New(slog.DiscardHandler)}
	for _, change := range more {
		change(&cfg)
	}
	tracker, err := track.Open(b.t.Context(), cfg)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { require.NoError(b.t, tracker.Close()) })
	b.Tracker, b.last = tracker, ""
	b.changed(b.take())
}

// changed returns the paths that differ from the last call.
func (b *bed) changed(snap track.Snapshot) []string {
	b.t.Helper()
	before := b.last
	b.last = snap.Tree
	if before == "" {
		return nil
	}
	text, err := b.Shadow().Run(b.t.Context(), "diff-tree", "-r", "--no-renames", "--name-only", "-z", before, snap.Tree)
	require.NoError(b.t, err)
	return strings.FieldsFunc(text, func(r rune) bool { return r == 0 })
}

func (b *bed) shadow(caps gitcmd.Caps) *gitcmd.Shadow {
	b.t.Helper()
	s, err := gitcmd.Opening{Dir: filepath.Join(b.t.TempDir(), "shadow.git"), Work: b.work, Caps: caps}.Open(b.t.Context())
	require.NoError(b.t, err)
	require.NoError(b.t, s.KeepBytes())
	head := ""
	if s.Own {
		id, err := gitcmd.Repository(b.work).Run(b.t.Context(), "rev-parse", "HEAD^{tree}")
		require.NoError(b.t, err)
		head = id
	}
	require.NoError(b.t, s.Begin(b.t.Context(), head))
	return s
}

func (b *bed) path(name string) string { return filepath.Join(b.work, name) }

func (b *bed) write(name, content string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	write(b.t, b.path(name), content)
}

// write writes a file while this process starts no other one, which would hold the file open for a moment: the end of its writing would
// be reported later, as another change.
func write(t *testing.T, path, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func (b *bed) git(args ...string) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Env = b.work, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(b.t, err, string(out))
}

// take takes a whole tree.
func (b *bed) take() track.Snapshot {
	b.t.Helper()
	snap, err := b.Take(b.t.Context())
	require.NoError(b.t, err)
	require.False(b.t, snap.Torn)
	b.taken = snap
	return snap
}

// dirty reports whether files may have changed since the last take.
func (b *bed) dirty() bool { return b.Dirty(b.taken) }

// same takes a tree that must be the true one.
func (b *bed) same() track.Snapshot {
	b.t.Helper()
	snap := b.take()
	require.Equal(b.t, b.list(b.want()), b.list(snap.Tree))
	return snap
}

// clean waits until nothing is reported as changed. A process that another test starts may hold a file open for a moment, so that
// the end of its writing is reported late.
func (b *bed) clean() {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return !b.dirty() || b.take().Tree == "" }, time.Minute, 10*time.Millisecond)
}

func (b *bed) want() string {
	b.t.Helper()
	snap, err := b.truth.Take(b.t.Context())
	require.NoError(b.t, err)
	return snap.Tree
}

// list lists a tree, so that a difference can be read.
func (b *bed) list(tree string) string {
	b.t.Helper()
	s := b.truth.Git
	s.Env = append(s.Env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(b.Shadow().GitDir, "objects"))
	text, err := s.Run(b.t.Context(), "ls-tree", "-r", "--full-tree", tree)
	require.NoError(b.t, err)
	return tree + "\n" + text
}
