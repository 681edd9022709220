package review

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// objects is a bare repository with objects of one task.
type objects struct {
	turn    chan struct{} // holds a value while a caller uses the fields below
	dir     string        // empty: not created
	removed bool
	lists   map[trees]Changes
	written string // object whose content is on disk; empty: none

	bytes atomic.Int64
	used  atomic.Int64 // time of the last use
	idle  *time.Timer  // removes the copy
}

// trees are the IDs of two trees.
type trees struct{ from, to string }

// Maximum sizes of a file, in bytes. To compare the lines of a file costs Git a hundred times their size in memory.
const (
	maxFile  = 32 << 20 // that is shown
	maxLines = 4 << 20  // whose lines are compared
)

// settings keep git from running programs, and from using much memory for objects of an agent.
func settings() []string {
	return gitproc.Options("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null", "protocol.allow=never",
		"core.bigFileThreshold=4m", "core.quotePath=false", "gc.auto=0", "maintenance.auto=false", "diff.renameLimit=1000")
}

// begin creates the repository, unless it exists. The form of its IDs is that of the points. A cleaner of temporary folders may have
// removed it.
func (o *objects) begin(ctx context.Context, scratch *tempdir.Dir, points []Point) error {
	if _, err := os.Stat(filepath.Join(o.dir, gitDir, "HEAD")); o.dir != "" && err == nil {
		return nil
	}
	_ = os.RemoveAll(o.dir)
	dir, err := scratch.Make("omoi-review-")
	if err != nil {
		return task.Errorf(task.CodeUnavailable, "Cannot create a temporary folder for files of the task.").WithCause(err)
	}
	o.dir, o.lists, o.written = dir, map[trees]Changes{}, ""
	format := "sha1"
	if slices.ContainsFunc(points, func(p Point) bool { return len(p.Commit) == sha256Length }) {
		format = "sha256"
	}
	_, err = o.git(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format)
	return err
}

const (
	gitDir       = "objects.git"
	sha256Length = 64 // digits
)

func (o *objects) measure() {
	if o.dir != "" {
		o.bytes.Store(tempdir.SizeOf(o.dir))
	}
}

// removePartial removes packs that git began and did not finish, which may be large.
func (o *objects) removePartial() {
	left, _ := filepath.Glob(filepath.Join(o.dir, gitDir, "objects", "pack", "tmp_*")) // the pattern is omoi's
	for _, path := range left {
		_ = os.Remove(path)
	}
}

// git runs git in the repository and returns its trimmed output.
func (o *objects) git(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := o.pipe(ctx, nil, &out, args...)
	return strings.TrimSpace(out.String()), err
}

// pipe runs git in the repository. [task.CodeUnavailable] means that the host ended it.
func (o *objects) pipe(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	full := append(settings(), "--git-dir="+filepath.Join(o.dir, gitDir))
	cmd := exec.CommandContext(ctx, "git", append(full, args...)...) //nolint:gosec // G204: the arguments are omoi's, and IDs of objects
	cmd.Dir, cmd.Stdin, cmd.Stdout = "/", in, out
	cmd.Env = gitproc.Environ("GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1", "GIT_ALLOC_LIMIT=512m")
	err := gitproc.Run(ctx, cmd, args[0])
	if e, ok := errors.AsType[*gitproc.Error](err); ok && ctx.Err() == nil && e.HostFault() {
		return task.Errorf(task.CodeUnavailable, "git %s was killed by a signal, or the host lacks disk, memory or open files.", args[0]).WithCause(err)
	}
	return err
}

// has reports whether the repository has a commit.
func (o *objects) has(ctx context.Context, commit string) bool {
	_, err := o.git(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// treeOf returns the ID of the tree with the files of a point.
func (o *objects) treeOf(ctx context.Context, p Point) (string, error) {
	name := p.Commit + "^{tree}"
	switch {
	case p.Commit == "":
		return o.git(ctx, "hash-object", "-t", "tree", "-w", "/dev/null")
	case p.Checkpoint != "":
		name = p.Commit + ":work"
	}
	id, err := o.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if err == nil {
		id, err = o.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", id+"^{tree}")
	}
	if gitproc.ExitCode(err) > 0 {
		return "", damaged("point "+p.Name, err)
	}
	return id, err
}

// errTooLarge ends a command of git.
var errTooLarge = errors.New("the limit of bytes is exceeded")

// limited is a reader or writer that fails behind a number of bytes.
type limited struct {
	in    io.Reader
	out   bytes.Buffer
	left  int64
	ended bool // in has no more bytes, or failed
}

// over reports whether there were more bytes.
func (l *limited) over() bool { return l.left < 0 }

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	l.ended = err != nil
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Write implements [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errTooLarge
	}
	return l.out.Write(p)
}
