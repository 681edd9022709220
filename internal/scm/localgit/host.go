package localgit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/omoi-dev/omoi/internal/hostfault"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// Config configures the host of local repositories.
type Config struct {
	// Git is the git program; empty: found on PATH at each call.
	Git string
	// MaxBundle is the maximum size of a bundle from a sandbox in bytes; 0: 2 GiB.
	MaxBundle int64
	// Scratch holds bundles during their check; nil: the system's temporary directory.
	Scratch *tempdir.Dir
	// History says how much history sandboxes get.
	History scm.History
}

const defaultMaxBundle = 2 << 30

// Host hosts local repositories. It keeps no state of its own.
type Host struct{ cfg Config }

var _ scm.Host = (*Host)(nil)

// New returns a local host.
func New(cfg Config) *Host {
	cfg.MaxBundle = cmp.Or(max(cfg.MaxBundle, 0), defaultMaxBundle)
	return &Host{cfg: cfg}
}

// Check returns nil if omoi can use the repository: it exists, has all its history and a commit, and is writable.
// Otherwise it returns [task.CodeInvalid] with the next step.
func (h *Host) Check(ctx context.Context, repo scm.Repo) error {
	r, err := h.open(ctx, repo)
	if err != nil {
		return err
	}
	if _, err = r.defaultBranch(ctx); err != nil {
		return err
	}
	if err := r.mustBeWhole(ctx); err != nil {
		return err
	}
	f, err := r.openLock()
	if err != nil {
		return err
	}
	return f.Close()
}

// mustBeWhole refuses a shallow clone.
func (r *repository) mustBeWhole(ctx context.Context) error {
	if _, err := os.Lstat(r.shallow()); errors.Is(err, fs.ErrNotExist) { // the usual case, and cheaper than a git command
		return nil
	}
	shallow, err := r.run(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", r.path, err)
	}
	if shallow == "true" {
		return task.Invalid("repo", "Repository %s is a shallow clone, agents need its history. Next: git -C %s fetch --unshallow",
			r.path, scm.Quoted(r.path))
	}
	return nil
}

// open opens the repository at a path. It refuses folders inside a repository.
func (h *Host) open(ctx context.Context, repo scm.Repo) (*repository, error) {
	path := filepath.Clean(string(repo))
	if strings.ContainsFunc(path, unicode.IsControl) {
		return nil, task.Invalid("repo", "Repository %q has control characters in its path.", path)
	}
	if !filepath.IsAbs(path) {
		return nil, task.Invalid("repo", "Local repository %q must be an absolute path.", path)
	}
	resolved, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, task.Invalid("repo", "There is nothing at %s. Next: git clone <url> %s, or git init %s",
			path, scm.Quoted(path), scm.Quoted(path)).WithCause(err)
	case hostfault.Is(err):
		return nil, task.Errorf(task.CodeUnavailable, "Repository %s cannot be read now: %v.", path, plain(err)).WithCause(err)
	case err != nil:
		return nil, task.Invalid("repo", "Repository %s cannot be read: %v.", path, plain(err)).WithCause(err)
	}
	owner, err := ownerOf(resolved)
	if err != nil {
		return nil, err
	}
	git, err := h.git()
	if err != nil {
		return nil, err
	}
	r := &repository{git: git, path: resolved, owner: owner}
	return r, r.discover(ctx)
}

func (h *Host) git() (string, error) {
	if h.cfg.Git != "" {
		return h.cfg.Git, nil
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return "", task.Errorf(task.CodeUnavailable, "The program git is not on PATH. Next: install git and try again.").WithCause(err)
	}
	return git, nil
}

// discover asks git for the repository at exactly this path. GIT_CEILING_DIRECTORIES keeps git from searching parent
// folders.
func (r *repository) discover(ctx context.Context) error {
	args := []string{"rev-parse", "--is-bare-repository", "--show-object-format", "--path-format=absolute", "--git-common-dir"}
	cmd := command(ctx, r.git, append(append(settings(r.owner), "-C", r.path), args...), r.owner)
	cmd.Env = append(cmd.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(r.path))
	var out strings.Builder
	if err := execute(ctx, cmd, stdio{out: &out}, args); cutShort(err) {
		return fmt.Errorf("find a repository at %s: %w", r.path, err)
	} else if err != nil {
		return r.notFound(err)
	}
	bare, rest, _ := strings.Cut(strings.TrimSuffix(out.String(), "\n"), "\n")
	r.format, r.dir, _ = strings.Cut(rest, "\n") // the path may hold line breaks
	r.objects, r.bare = filepath.Join(r.dir, "objects"), bare == "true"
	return nil
}

func (r *repository) notFound(cause error) error {
	if failed, ok := errors.AsType[*gitproc.Error](cause); ok && strings.Contains(failed.Stderr, "Permission denied") {
		return task.Invalid("repo", "Repository %s cannot be read by %s. Next: give that user access to it and to the folders above it.",
			r.path, r.user()).WithCause(cause)
	}
	if info, err := os.Stat(r.path); err == nil && !info.IsDir() {
		return task.Invalid("repo", "%s is a file. Next: give the folder of a git repository", r.path).WithCause(cause)
	}
	if around := enclosing(r.path); around != "" {
		return task.Invalid("repo", "%s is not a git repository itself, it is a folder of one. Next: give %s", r.path, scm.Quoted(around)).WithCause(cause)
	}
	return task.Invalid("repo", "%s is not a git repository. Next: give the folder that holds .git, or run git init %s",
		r.path, scm.Quoted(r.path)).WithCause(cause)
}

// enclosing returns the working copy that contains a folder; empty if none. It checks names only: git must not run in
// folders of other users.
func enclosing(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// user returns the name of the user as whom git runs.
func (r *repository) user() string {
	if r.owner == nil {
		return "the user that omoi runs as"
	}
	return fmt.Sprintf("its owner, user %d", r.owner.Uid)
}

// plain returns the reason without the path, which the message already names.
func plain(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// resolve returns the commit at ref; empty if there is none.
func (r *repository) resolve(ctx context.Context, ref string) (string, error) {
	commit, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	switch {
	case err == nil:
		return commit, nil
	case gitproc.ExitCode(err) == 1:
		return "", nil
	}
	return "", fmt.Errorf("resolve %s in %s: %w", ref, r.path, err)
}

// resolveAll returns the commits at names; empty where there is none.
func (r *repository) resolveAll(ctx context.Context, names ...string) ([]string, error) {
	var in, out strings.Builder
	for _, name := range names {
		in.WriteString(strings.ReplaceAll(name, "\n", "?") + "^{commit}\n") // no name has a question mark or a line break
	}
	if err := r.pipe(ctx, stdio{in: strings.NewReader(in.String()), out: &out}, "cat-file", "--batch-check=%(objectname)"); err != nil {
		return nil, fmt.Errorf("resolve %s in %s: %w", strings.Join(names, ", "), r.path, err)
	}
	commits := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i, commit := range commits {
		if !scm.IsCommit(commit) {
			commits[i] = "" // "<name> missing" or "<name> ambiguous"
		}
	}
	if len(commits) != len(names) {
		return nil, fmt.Errorf("resolve %s in %s: %d answers", strings.Join(names, ", "), r.path, len(commits))
	}
	return commits, nil
}

// defaultBranch returns where task branches start: the default branch of the origin; else HEAD if it has a usual name
// or the repository is bare; else the first existing usual name; else HEAD. A user's feature branch is HEAD by chance,
// so it comes last.
func (r *repository) defaultBranch(ctx context.Context) (string, error) {
	branches, head, origin, err := r.branches(ctx)
	if err != nil {
		return "", err
	}
	if len(branches) == 0 {
		return "", task.Invalid("repo", "Repository %s has no commits yet. Next: git -C %s commit --allow-empty -m \"Start\"",
			r.path, scm.Quoted(r.path))
	}
	choices := []string{origin}
	if r.bare || slices.Contains(scm.UsualBranches(), head) {
		choices = append(choices, head)
	}
	choices = append(append(choices, scm.UsualBranches()...), head)
	for _, c := range choices {
		if c != "" && slices.Contains(branches, c) {
			return c, nil
		}
	}
	return branches[0], nil
}

const (
	originRefs = "refs/remotes/origin/"
	originHead = originRefs + "HEAD"
)

// branches returns the local branches, that at which HEAD is, and the default branch of the origin; empty if none.
func (r *repository) branches(ctx context.Context) (all []string, head, origin string, err error) {
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname) %(HEAD) %(symref)", headsRefs, originHead)
	if err != nil {
		return nil, "", "", fmt.Errorf("list the branches of %s: %w", r.path, err)
	}
	for line := range strings.Lines(out) {
		ref, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, local := strings.CutPrefix(ref, headsRefs)
		switch {
		case ref == originHead:
			origin = strings.TrimPrefix(strings.TrimSpace(rest), originRefs)
		case local:
			all = append(all, name)
		}
		if local && strings.HasPrefix(rest, "*") {
			head = name
		}
	}
	if origin == "" {
		origin, err = r.dangling(ctx)
	}
	return all, head, origin, err
}

// dangling returns the default branch of the origin if the repository lacks that branch of the origin: git for-each-ref leaves
// it out then. A symbolic ref is a file.
func (r *repository) dangling(ctx context.Context) (string, error) {
	if _, err := os.Lstat(filepath.Join(r.dir, originHead)); err != nil {
		return "", nil //nolint:nilerr // the usual case, and cheaper than a git command
	}
	target, err := r.run(ctx, "symbolic-ref", "--quiet", originHead)
	if cutShort(err) {
		return "", fmt.Errorf("read %s of %s: %w", originHead, r.path, err)
	}
	return strings.TrimPrefix(target, originRefs), nil
}
