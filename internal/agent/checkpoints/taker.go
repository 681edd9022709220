package checkpoints

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/track"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

const (
	shadowName = "checkpoint.git"
	// maxTries is the maximum number of reads until no tool is called or ends during one.
	maxTries = 5
)

// taker takes checkpoints of one workspace.
type taker struct {
	shadow *gitcmd.Shadow
	work   string
	known  []string // commits that the API has
	// branch is the task's branch in a work tree of a user: the head is recorded as this branch, whatever its own name.
	branch string
	base   string // commit of the checkpoint that the user took

	maxPack int64 // bytes

	tracker *track.Tracker
	snap    track.Snapshot // the newest

	kept kept

	damaged map[string]bool // commits and trees of the workspace that no pack can have
}

// kept is what Git is slow to return and has not changed. Its objects are in the newest checkpoint, so that no Prune deletes them.
type kept struct {
	head                       newest[head]
	listed, index, refs, state newest[string]
}

// newest is the newest result of a function of key.
type newest[T any] struct {
	key   string
	value T
}

// of returns the result for a key. Neither an error nor the result for an empty key is kept.
func (n *newest[T]) of(key string, get func() (T, error)) (T, error) {
	if key != "" && n.key == key {
		return n.value, nil
	}
	value, err := get()
	if err != nil {
		key = ""
	}
	*n = newest[T]{key, value}
	return value, err
}

// taken is a checkpoint that is not sent yet.
type taken struct {
	commit string
	tree   string   // entry work
	needs  []string // commits, and the entry index
	at     head
	read   time.Time // when the files were as they are in the checkpoint
	said   checkpoint.Sealed
}

// openShadow opens the shadow of a workspace in dir.
func openShadow(ctx context.Context, dir, work string) (*gitcmd.Shadow, error) {
	if !gitcmd.Available() {
		return nil, errors.New("git is not installed in the sandbox")
	}
	caps := gitcmd.Caps{Inner: true, Base: knownBase(ctx, work)}
	shadow, err := gitcmd.Opening{Dir: filepath.Join(dir, shadowName), Work: work, Caps: caps}.Open(ctx)
	if err == nil {
		err = shadow.KeepBytes()
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(shadow.Index); err != nil { // the first start
		shadow.Seed(ctx)
	}
	return shadow, nil
}

// Track begins to follow changes of the files of a workspace that is ready for the agent, in a shadow in dir.
func Track(ctx context.Context, dir, work string, cfg track.Config) (tracker *track.Tracker, err error) {
	if cfg.Shadow, err = openShadow(ctx, dir, work); err != nil {
		return nil, err
	}
	if tracker, err = track.Open(ctx, cfg); err == nil || ctx.Err() != nil {
		return tracker, err
	}
	// The workspace's index is of no use where entries are unmerged.
	if err := cfg.Shadow.Begin(ctx, gitcmd.Repository(work).Commit(ctx, "HEAD")); err != nil {
		return nil, err
	}
	return track.Open(ctx, cfg)
}

// knownCommits returns the commits of the workspace's remote, which came with the bundle.
func knownCommits(ctx context.Context, work string) []string {
	text, err := gitcmd.Repository(work).Run(ctx, "for-each-ref", "--format=%(objectname)", "refs/remotes/origin")
	if err != nil || text == "" {
		return nil
	}
	all := strings.Fields(text)
	slices.Sort(all)
	return slices.Compact(all)
}

// knownBase returns the newest commit of the head's history that the API has; empty: none.
func knownBase(ctx context.Context, work string) string {
	known := knownCommits(ctx, work)
	if len(known) == 0 {
		return ""
	}
	base, _ := gitcmd.Repository(work).Run(ctx, append([]string{"merge-base", "HEAD"}, known...)...)
	return base
}

// How the files are read.
type reading int

const (
	atRest  reading = iota // only files that are known to have changed
	working                // and from time to time all files, since not every change is reported
	last                   // all files
)

// head is what is checked out, with the Git index.
type head struct {
	commit  string
	ref     string    // empty: a detached HEAD
	folder  string    // path of the Git folder
	index   string    // its path
	stamp   string    // differs after each change of the index
	changed time.Time // of the index
}

// head reads what is checked out; zero without a commit.
func (t *taker) head(ctx context.Context) head {
	if !t.shadow.Own {
		return head{}
	}
	h, err := t.kept.head.of(refsStamp(t.work), func() (head, error) { return t.readHead(ctx) })
	if err != nil {
		return head{}
	}
	h.stamp, h.changed = stamp(h.index)
	return h
}

// readHead is head without the stamp.
func (t *taker) readHead(ctx context.Context) (head, error) {
	text, err := gitcmd.Repository(t.work).Run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index", "--absolute-git-dir",
		"HEAD^{commit}", "--symbolic-full-name", "HEAD")
	lines := strings.Split(text, "\n")
	if err != nil || len(lines) != 4 {
		return head{}, cmp.Or(err, errors.New("git rev-parse: unexpected output"))
	}
	h := head{index: lines[0], folder: lines[1], commit: lines[2], ref: lines[3]}
	switch {
	case t.branch != "":
		h.ref = headsRefs + t.branch
	case h.ref == "HEAD":
		h.ref = ""
	}
	return h, nil
}

// take takes a checkpoint. quiet reports whether the agent called and ended no tool since it was last asked.
func (t *taker) take(ctx context.Context, how reading, quiet func() bool) (c taken, err error) {
	var state gitState
	var index string
	whole := false
	for n := 0; n < maxTries && !whole; n++ {
		at := t.head(ctx)
		if err := t.files(ctx, how, quiet); err != nil {
			return taken{}, err
		}
		c = taken{tree: t.snap.Tree, read: t.snap.At, at: at, said: checkpoint.Sealed{
			Torn: t.snap.Torn, LeftOut: t.snap.Skipped, Head: at.commit, HeadRef: at.ref,
			GitState: at.folder != "" && gitcmd.Unfinished(at.folder),
		}}
		index = t.index(ctx, &c) // first, since the state has its unmerged entries
		if state, err = t.state(ctx, &c); err != nil {
			return taken{}, err
		}
		whole = t.head(ctx) == at
	}
	c.said.Torn = c.said.Torn || !whole // head, index and files may be of different moments
	c.needs = append(slices.Clone(state.parents), index)
	return c, t.commit(ctx, &c, index, state)
}

// files reads the work tree until no tool was called or ended meanwhile. At rest the files are those of the last reading, unless
// they changed since.
func (t *taker) files(ctx context.Context, how reading, quiet func() bool) (err error) {
	quiet()
	if how == atRest && t.snap.Tree != "" && !t.tracker.Dirty(t.snap) {
		if t.tracker.Stats().Watches > 0 {
			t.snap.At = time.Now()
		}
		return nil
	}
	read := t.tracker.Take
	if how == last {
		read = t.tracker.Scan
	}
	for range maxTries {
		quiet()
		if t.snap, err = read(ctx); err != nil || quiet() {
			return err
		}
	}
	t.snap.Torn = true
	return nil
}
