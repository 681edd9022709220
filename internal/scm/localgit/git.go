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

// settings returns the options of every git command. They keep git from running programs that a repository names, from
// prompting, and from failing at once on a lock. Running as omoi's own user, git may use repositories of other users;
// running as their owner, it checks the owner itself.
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

// repository is a repository on disk with the user as whom git runs on it.
type repository struct {
	git     string // path of the git program
	path    string // requested path without symbolic links
	dir     string // git directory that all worktrees share
	objects string // object directory
	format  string // object format: sha1 or sha256
	bare    bool
	owner   *syscall.Credential // nil: omoi's own user
}

// stdio holds the standard streams of a git command; nil streams are empty.
type stdio struct {
	in  io.Reader
	out io.Writer
}

// run runs git in the repository and returns its trimmed output.
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

// execute runs a git command. [task.CodeUnavailable] means that the host ended it, which says nothing about the
// repository.
func execute(ctx context.Context, cmd *exec.Cmd, std stdio, args []string) error {
	cmd.Stdin, cmd.Stdout = std.in, std.out
	err := gitproc.Run(ctx, cmd, args[0])
	if failed, ok := errors.AsType[*gitproc.Error](err); ok && ctx.Err() == nil && failed.HostFault() {
		return task.Errorf(task.CodeUnavailable, "git %s was killed by a signal, or the host lacks disk, memory or open files.", args[0]).WithCause(failed)
	}
	return err
}

// cutShort reports whether git failed because of the host or a cancelled call, not because of its input.
func cutShort(err error) bool {
	return task.CodeOf(err) == task.CodeUnavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ownerOf returns the user as whom git runs on path: its owner if omoi runs as root. A user's repository then gets no
// files of root, and its configuration runs nothing as root. nil means omoi's own user.
func ownerOf(path string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no credential means ourselves
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", path, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
		return nil, nil //nolint:nilnil // no credential means ourselves
	}
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}, nil
}

// give changes the owner of a file to the owner of the repository.
func (r *repository) give(path string) error {
	if r.owner == nil {
		return nil
	}
	if err := os.Lchown(path, int(r.owner.Uid), int(r.owner.Gid)); err != nil {
		return fmt.Errorf("change the owner of %s: %w", filepath.Base(path), err)
	}
	return nil
}
