// Package salvage collects an agent's work from its workspace: commits of the task's branch and, as a separate commit,
// all uncommitted changes. The package changes nothing in the workspace and works with a damaged one: the agent may
// have died during a merge, and may have changed any setting.
package salvage

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
)

// RescueRef is the ref of the uncommitted changes in the bundle.
const RescueRef = "refs/omoi/rescue"

// Config says what to collect.
type Config struct {
	Dir       string // the agent's folder, to which bundle and patch are written
	Workspace string
	Repo      *agentconfig.Repo // nil: the task has no repository
	Caps      gitcmd.Caps
	// Patience is the timeout of one command in the workspace's repository; commands for all files have four times as
	// long. Zero: 20 seconds.
	Patience time.Duration
}

// Collect collects the work. A repeated call for the same work gives the same commits. Collect saves as much as
// possible: the notes name the rest. An error means that the workspace could not be read.
func Collect(ctx context.Context, cfg Config) (agentconfig.Collected, error) {
	if !gitcmd.Available() {
		return agentconfig.Collected{}, fmt.Errorf("git is not installed in the sandbox")
	}
	if _, err := os.Stat(cfg.Workspace); err != nil {
		return agentconfig.Collected{}, fmt.Errorf("read the workspace: %w", err)
	}
	cfg.Patience = cmp.Or(max(cfg.Patience, 0), 20*time.Second)
	cfg.Caps.Inner = true
	if cfg.Repo != nil {
		cfg.Caps.Base = cfg.Repo.Base
	}
	cfg.Caps.FileBytes = cmp.Or(max(cfg.Caps.FileBytes, 0), maxFile)
	c, err := collect(ctx, cfg, waysAsItIs)
	for way := waysUnclogged; c.stuck.Load() && way <= waysAlone && ctx.Err() == nil; way++ {
		unclog(cfg)
		c, err = collect(ctx, cfg, way)
	}
	return c.res, err
}

// maxFile is the maximum size of a saved file. The limit is larger than for diffs, because no other copy exists.
const maxFile = 128 << 20

// Ways to collect; each one avoids the obstacles of the one before.
const (
	waysAsItIs    = iota
	waysUnclogged // after removing named pipes, at which git would block
	waysAlone     // without the workspace's own repository
)

// collect collects in one way, and stops when a command times out.
func collect(ctx context.Context, cfg Config, way int) (*collector, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &collector{cfg: cfg, repo: agentconfig.Repo{}, alone: way == waysAlone}
	if cfg.Repo != nil {
		c.repo = *cfg.Repo
	}
	c.late = func() {
		c.stuck.Store(true)
		if !c.alone {
			cancel()
		}
	}
	for _, name := range []string{agentconfig.OutBundle, agentconfig.OutPatch} {
		_ = os.Remove(c.out(name)) // of an earlier call
	}
	if err := c.open(ctx); err != nil {
		return c, err
	}
	c.heads(ctx)
	c.uncommitted(ctx)
	c.bundle(ctx)
	return c, nil
}

// unclog removes entries other than files, folders and links, because git would block at a named pipe.
func unclog(cfg Config) {
	for _, top := range []string{cfg.Workspace, filepath.Join(cfg.Dir, workspace.OriginName)} {
		root, err := os.OpenRoot(top)
		if err != nil {
			continue
		}
		_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !entry.Type().IsRegular() && entry.Type() != fs.ModeSymlink {
				_ = root.Remove(path)
			}
			return nil
		})
		_ = root.Close()
	}
}

type collector struct {
	cfg    Config
	repo   agentconfig.Repo
	shadow *gitcmd.Shadow
	git    gitcmd.Git // of the shadow
	res    agentconfig.Collected

	head   string   // HEAD commit; empty without one
	branch string   // commit for the task's branch; empty: none
	from   *string  // base commit; nil: not read yet
	more   []string // commits of other branches and stashes
	snap   gitcmd.Snapshot
	alone  bool   // ignore the workspace's own repository
	cut    string // git's list of commits at which the history is cut; empty: the workspace's own
	late   func() // called after a command timed out
	stuck  atomic.Bool
}

func (c *collector) out(name string) string {
	return filepath.Join(c.cfg.Dir, filepath.Base(name))
}

func (c *collector) note(format string, args ...any) {
	c.res.Notes = append(c.res.Notes, fmt.Sprintf(format, args...))
}

// open creates a new shadow, because that of an earlier call may be damaged.
func (c *collector) open(ctx context.Context) error {
	dir := filepath.Join(c.cfg.Dir, "collect.git")
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the folder of an earlier collect: %w", err)
	}
	c.cut = c.cutWhere(ctx)
	opening := gitcmd.Opening{
		Dir: dir, Work: c.cfg.Workspace, Caps: c.cfg.Caps, Alone: c.alone, Timeout: c.cfg.Patience, Late: c.late, Shallow: c.cut,
	}
	shadow, err := opening.Open(ctx)
	if err != nil {
		return err
	}
	c.shadow, c.git = shadow, shadow.Git
	c.res.Repo = shadow.Own
	if c.cut != "" {
		return shadow.Borrow(c.origin("objects"))
	}
	return nil
}

// look returns git for the workspace's own repository.
func (c *collector) look() gitcmd.Git {
	git := gitcmd.Repository(c.cfg.Workspace)
	git.Timeout, git.Late = c.cfg.Patience, c.late
	if c.cut != "" {
		git.Env = append(git.Env, "GIT_SHALLOW_FILE="+c.cut, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+c.origin("objects"))
	}
	return git
}

// heads finds the commits. The branch is the task's branch, or HEAD if HEAD descends from it: an agent may have
// detached its HEAD.
func (c *collector) heads(ctx context.Context) {
	if !c.res.Repo {
		c.withoutRepository(ctx)
		return
	}
	c.head = c.look().Commit(ctx, "HEAD")
	if c.repo.Branch != "" {
		c.branch = c.look().Commit(ctx, "refs/heads/"+c.repo.Branch)
	}
	if c.branch == "" {
		c.branch = c.pushed(ctx)
	}
	switch {
	case c.head == "":
	case c.branch == "" && (c.base(ctx) == "" || c.ancestor(ctx, c.repo.Base, c.head)):
		c.branch = c.head
	case c.branch != "" && c.ancestor(ctx, c.branch, c.head):
		c.branch = c.head
	}
	c.res.Head = c.branch
	c.res.Commits = c.count(ctx)
	c.loose(ctx)
}

// withoutRepository starts from the pushed commits, so that only new work is saved.
func (c *collector) withoutRepository(ctx context.Context) {
	c.branch = c.pushed(ctx)
	if c.branch == "" {
		return
	}
	c.note("Cannot use the workspace's own repository: commits that were not pushed are lost")
	c.head, c.res.Head, c.res.Commits = c.branch, c.branch, c.count(ctx)
}

// pushed returns the branch in the bare origin next to the workspace, for an agent that removed its own.
func (c *collector) pushed(ctx context.Context) string {
	if c.repo.Branch == "" {
		return ""
	}
	origin := filepath.Join(c.cfg.Dir, workspace.OriginName)
	git := gitcmd.Git{Dir: c.cfg.Dir, GitDir: origin, Timeout: c.cfg.Patience, Late: c.late}
	id, err := git.Run(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+c.repo.Branch)
	if err != nil || c.shadow.Borrow(filepath.Join(origin, "objects")) != nil {
		return ""
	}
	return id
}

// base returns the base commit if it exists here.
func (c *collector) base(ctx context.Context) string {
	if c.repo.Base == "" {
		return ""
	}
	if c.from == nil {
		id := c.git.Commit(ctx, c.repo.Base)
		c.from = &id
	}
	return *c.from
}

func (c *collector) ancestor(ctx context.Context, old, young string) bool {
	if old == young {
		return true
	}
	_, err := c.git.Run(ctx, "merge-base", "--is-ancestor", old, young)
	return err == nil
}

func (c *collector) count(ctx context.Context) int {
	if c.branch == "" {
		return 0
	}
	args := []string{"rev-list", "--count", c.branch}
	if base := c.base(ctx); base != "" {
		args = append(args, "^"+base)
	}
	text, err := c.git.Run(ctx, args...)
	if err != nil {
		c.note("Cannot count the commits: %s", err)
		return 0
	}
	n, _ := strconv.Atoi(text)
	return n
}

// loose finds commits on other branches and in the stash. They become parents of the rescue commit, which keeps them
// without refs of their own.
func (c *collector) loose(ctx context.Context) {
	text, err := c.look().Run(ctx, "for-each-ref", "--format=%(objecttype) %(objectname)", "refs/heads", "refs/stash")
	if err != nil {
		return
	}
	for line := range strings.Lines(text) {
		kind, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "commit" && len(c.more) < 20 && !c.held(ctx, id) {
			c.more = append(c.more, id)
		}
	}
	if c.head != "" && !c.held(ctx, c.head) {
		c.more = append(c.more, c.head)
	}
}

// held reports whether the branch, the base or a commit found before contains a commit.
func (c *collector) held(ctx context.Context, id string) bool {
	known := append([]string{c.branch, c.base(ctx)}, c.more...)
	if slices.Contains(known, id) {
		return true
	}
	args := []string{"rev-list", "--count", id, "--not"}
	for _, one := range known {
		if one != "" {
			args = append(args, one)
		}
	}
	text, err := c.git.Run(ctx, args...)
	return err == nil && text == "0"
}

// uncommitted reads the work tree and commits it if it differs from HEAD. A commit follows .gitattributes as git add
// does. Without a repository, a patch contains the files unchanged.
func (c *collector) uncommitted(ctx context.Context) {
	if c.files() {
		if err := c.shadow.KeepBytes(); err != nil {
			c.note("Files are saved as git would commit them, because their attributes cannot be disabled: %s", err)
		}
	}
	if err := c.shadow.Begin(ctx, c.head); err != nil {
		c.note("Cannot read the HEAD commit: %s", err)
		c.head = ""
		if err := c.shadow.Begin(ctx, ""); err != nil {
			return
		}
	}
	snap, err := c.shadow.Take(ctx)
	c.res.Notes = append(c.res.Notes, snap.Skipped...)
	if err != nil {
		c.note("Cannot read the work tree: %s", err)
		return
	}
	c.snap = snap
	before := c.tree(ctx)
	changes, total, err := diff.Names(ctx, c.git, before, snap.Tree)
	if err != nil {
		c.note("Cannot compare the work tree: %s", err)
		return
	}
	c.res.Files = total - c.snap.Links
	for _, path := range changes {
		if info, err := os.Lstat(filepath.Join(c.cfg.Workspace, path)); err == nil && !info.IsDir() {
			c.res.Bytes += info.Size()
		}
	}
	if total == 0 && len(c.more) == 0 {
		return
	}
	if c.files() {
		c.patch(ctx, before)
		return
	}
	c.rescue(ctx, before)
}

// files reports whether the work is files without any commit.
func (c *collector) files() bool { return !c.res.Repo && c.head == "" }

// tree returns the tree to compare the work tree with.
func (c *collector) tree(ctx context.Context) string {
	if c.head != "" {
		if id, err := c.git.Run(ctx, "rev-parse", "--verify", "--quiet", c.head+"^{tree}"); err == nil {
			return id
		}
	}
	id, err := c.git.Run(ctx, "hash-object", "-t", "tree", "-w", "/dev/null")
	if err != nil {
		c.note("Cannot create an empty tree: %s", err)
	}
	return id
}
