// Package workspace makes the agent's working copy from a bundle, with a bare origin beside
// it, so that commit and push work inside without any credential.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/task"
)

// OriginName is the bare repository's name in the agent's folder.
const OriginName = "origin.git"

// Prepare makes the workspace, or reuses that of an earlier start. made reports whether the checkout is new. Without a
// repository it only makes the folder.
func Prepare(ctx context.Context, dir, work string, repo *agentconfig.Repo) (made bool, err error) {
	if err := os.MkdirAll(work, 0o755); err != nil { //nolint:gosec // a working copy is no secret
		return false, fmt.Errorf("create workspace: %w", err)
	}
	if repo == nil {
		return false, nil
	}
	if !gitcmd.Available() {
		return false, task.Errorf(task.CodeUnavailable, "git is not installed in the sandbox")
	}
	if _, err := gitcmd.Repository(work).Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		return false, nil
	}
	origin := filepath.Join(dir, OriginName)
	if err := makeOrigin(ctx, origin, repo); err != nil {
		return false, err
	}
	return true, checkout(ctx, origin, work, repo)
}

// makeOrigin clones the bundle beside its final name, so that a half-made one is never used.
func makeOrigin(ctx context.Context, origin string, repo *agentconfig.Repo) error {
	if _, err := os.Stat(origin); err == nil {
		return nil
	}
	bundle := cmp.Or(repo.Bundle, agentconfig.InBundle)
	if _, err := os.Stat(bundle); err != nil {
		return fmt.Errorf("find the repository's bundle: %w", err)
	}
	git := gitcmd.Git{Dir: filepath.Dir(origin)}
	says, err := headOf(ctx, git, bundle)
	if err != nil {
		return err
	}
	half := origin + ".half"
	if err := os.RemoveAll(half); err != nil {
		return fmt.Errorf("remove incomplete clone: %w", err)
	}
	if _, err := git.Run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+says.format, half); err != nil {
		return err
	}
	if says.cuts != "" { // so that git misses nothing in front of them
		if err := os.WriteFile(filepath.Join(half, "shallow"), []byte(says.cuts), 0o644); err != nil { //nolint:gosec // as git writes it
			return fmt.Errorf("note where the history is cut: %w", err)
		}
	}
	in := gitcmd.Git{Dir: half}
	if _, err := in.Run(ctx, "fetch", "--quiet", "--no-write-fetch-head", bundle, "+refs/heads/*:refs/heads/*"); err != nil {
		return fmt.Errorf("read the repository's bundle: %w", err)
	}
	if _, err := in.Run(ctx, "symbolic-ref", "HEAD", "refs/heads/"+repo.Branch); err != nil {
		return err
	}
	if err := os.Rename(half, origin); err != nil {
		return fmt.Errorf("place origin: %w", err)
	}
	return nil
}

// head is what a bundle says of itself.
type head struct {
	format string // of its ids: sha1 or sha256
	cuts   string // the commits at which its history is cut, a line each
}

// headOf asks git for the refs of a bundle.
func headOf(ctx context.Context, git gitcmd.Git, bundle string) (head, error) {
	text, err := git.Run(ctx, "bundle", "list-heads", bundle)
	if err != nil {
		return head{}, fmt.Errorf("read the repository's bundle: %w", err)
	}
	h := head{format: "sha1"}
	for line := range strings.Lines(text) {
		commit, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if len(commit) == hex.EncodedLen(sha256.Size) {
			h.format = "sha256"
		}
		if strings.HasPrefix(ref, agentconfig.CutRefs) {
			h.cuts += commit + "\n"
		}
	}
	return h, nil
}

// checkout fills the workspace, which may be a mount point that cannot be replaced. Each step is idempotent, so that a
// restart completes an interrupted start.
func checkout(ctx context.Context, origin, work string, repo *agentconfig.Repo) error {
	git := gitcmd.Repository(work)
	format, err := gitcmd.Git{Dir: origin}.Run(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	init := gitcmd.Git{Dir: work}
	if _, err := init.Run(ctx, "init", "--quiet", "--object-format="+format, "--initial-branch="+repo.Branch, work); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(work, ".git", "index.lock")) // of a start that died
	if err := configure(filepath.Join(work, ".git", "config"), origin, repo); err != nil {
		return err
	}
	if _, err := git.Run(ctx, "fetch", "--quiet", "--update-shallow", "origin"); err != nil {
		return err
	}
	_, err = git.Run(ctx, "checkout", "--quiet", "--force", "-B", repo.Branch, "refs/remotes/origin/"+repo.Branch)
	return err
}

// configure adds to the new repository's settings in one write: a process of git for each of
// them would take longer than the checkout.
func configure(path, origin string, repo *agentconfig.Repo) error {
	text := fmt.Sprintf(`[remote "origin"]
	url = %s
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch %s]
	remote = origin
	merge = %s
[push]
	default = current
[user]
	name = %s
	email = %s
`, quote(origin), quote(repo.Branch), quote("refs/heads/"+repo.Branch), quote(cmp.Or(repo.AuthorName, "omoi")), quote(cmp.Or(repo.AuthorEmail, "omoi@localhost")))
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the workspace's git settings: %w", err)
	}
	if strings.Contains(string(b), text) {
		return nil // of a start that died later
	}
	if err := os.WriteFile(path, append(b, text...), 0o644); err != nil { //nolint:gosec // as git writes it
		return fmt.Errorf("write the workspace's git settings: %w", err)
	}
	return nil
}

// quote writes a value as git's settings file wants it.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\x00", "").Replace(text) + `"`
}
