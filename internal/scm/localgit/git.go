package localgit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/task"
)

// settings hold on every git command; each of them keeps git from running something
// that a repository names, from asking, or from giving up on a lock at once. Git may work on
// other people's repositories as long as it runs as us; as their owner it judges itself.
func settings(owner *syscall.Credential) []string {
	patience := strconv.FormatInt(refWait.Milliseconds(), 10)
	pairs := []string{
		"core.hooksPath=/dev/null",
		"core.fsmonitor=false",
		"core.filesRefLockTimeout=" + patience,
		"core.packedRefsTimeout=" + patience,
		"protocol.allow=never",
		"protocol.file.allow=always",
		"gc.auto=0",
		"maintenance.auto=false",
		"advice.detachedHead=false",
		"fetch.fsckObjects=true",
		"fetch.recurseSubmodules=false",
		"core.logAllRefUpdates=false",
	}
	if owner == nil {
		pairs = append(pairs, "safe.directory=*")
	}
	return gitproc.Options(pairs...)
}

// repository is one that was found on disk, and the user as whom git works on it.
type repository struct {
	git     string // the binary
	path    string // as asked for, symbolic links resolved
	dir     string // the git directory that all worktrees share
	objects string // the object store
	bare    bool
	owner   *syscall.Credential // nil: as ourselves
}

// stdio is what a git command reads and writes; nil is nothing.
type stdio struct {
	in  io.Reader
	out io.Writer
}

// run runs git in the repository and answers its trimmed output.
func (r *repository) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := r.pipe(ctx, stdio{out: &out}, args...)
	return strings.TrimSpace(out.String()), err
}

// pipe runs git in the repository.
func (r *repository) pipe(ctx context.Context, std stdio, args ...string) error {
	full := append(settings(r.owner), "--git-dir="+r.dir)
	cmd := command(ctx, r.git, append(full, args...), r.owner)
	return execute(ctx, cmd, std, args)
}

func command(ctx context.Context, git string, args []string, owner *syscall.Credential) *exec.Cmd {
	cmd := exec.CommandContext(ctx, git, args...) //nolint:gosec // G204: our own git, arguments checked by the callers
	cmd.Dir = "/"
	cmd.Env = gitproc.Environ("GIT_NO_REPLACE_OBJECTS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	return cmd
}

// execute runs a git command. [task.CodeUnavailable] is of one that the host ended, and so says nothing about the repository.
func execute(ctx context.Context, cmd *exec.Cmd, std stdio, args []string) error {
	cmd.Stdin, cmd.Stdout = std.in, std.out
	err := gitproc.Run(ctx, cmd, args[0])
	if failed, ok := errors.AsType[*gitproc.Error](err); ok && ctx.Err() == nil && failed.HostFault() {
		return task.Errorf(task.CodeUnavailable, "git %s was killed by a signal, or the host lacks disk, memory or open files.", args[0]).WithCause(failed)
	}
	return err
}

// cutShort reports whether git failed through the host or a cancelled call, and not through what it worked on.
func cutShort(err error) bool {
	return task.CodeOf(err) == task.CodeUnavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ownerOf answers as whom to work on path: its owner where we are root and it is not
// ours, so that no root-owned file appears in a user's repository and nothing that
// its configuration names runs as root.
func ownerOf(path string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no credential means ourselves
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
		return nil, nil //nolint:nilnil // no credential means ourselves
	}
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}, nil
}

// give hands a file of ours to the owner of the repository.
func (r *repository) give(path string) error {
	if r.owner == nil {
		return nil
	}
	if err := os.Lchown(path, int(r.owner.Uid), int(r.owner.Gid)); err != nil {
		return fmt.Errorf("hand %s to its owner: %w", filepath.Base(path), err)
	}
	return nil
}
