// Package workspace creates the agent's working copy from a bundle, with a bare origin next to it, so that commit and
// push work in the sandbox without a credential.
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

// OriginName is the name of the bare repository in the agent's folder.
const OriginName = "origin.git"

// Prepare creates the workspace, or reuses that of an earlier start. Without a repository it creates the folder only.
func Prepare(ctx context.Context, dir, work string, repo *agentconfig.Repo) error {
	if err := os.MkdirAll(work, 0o755); err != nil { //nolint:gosec // a working copy is not secret
		return fmt.Errorf("create workspace: %w", err)
	}
	if repo == nil {
		return nil
	}
	if !gitcmd.Available() {
		return task.Errorf(task.CodeUnavailable, "git is not installed in the sandbox")
	}
	if prepared(ctx, work) {
		return nil
	}
	origin := filepath.Join(dir, OriginName)
	format, err := makeOrigin(ctx, origin, repo)
	if err != nil {
		return err
	}
	return checkout(ctx, origin, work, format, repo)
}

// prepared reports whether a commit is checked out.
func prepared(ctx context.Context, work string) bool {
	if entries, err := os.ReadDir(work); err == nil && len(entries) == 0 { // the usual case, and cheaper than a git command
		return false
	}
	_, err := gitcmd.Repository(work).Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	return err == nil
}

// Clear removes all that is in the workspace. The folder stays, because it may be a mount point.
func Clear(work string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return fmt.Errorf("clear workspace: %w", err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(work, entry.Name())); err != nil {
			return fmt.Errorf("clear workspace: %w", err)
		}
	}
	return nil
}

// makeOrigin clones the bundle under another name and renames the clone, so that an incomplete clone is never used. It returns the
// object format.
func makeOrigin(ctx context.Context, origin string, repo *agentconfig.Repo) (format string, err error) {
	if _, err := os.Stat(origin); err == nil {
		return gitcmd.Git{Dir: origin}.Run(ctx, "rev-parse", "--show-object-format")
	}
	bundle := cmp.Or(repo.Bundle, agentconfig.InBundle)
	if _, err := os.Stat(bundle); err != nil {
		return "", fmt.Errorf("find the repository's bundle: %w", err)
	}
	says, err := headOf(ctx, gitcmd.Git{Dir: filepath.Dir(origin)}, bundle)
	if err == nil {
		err = says.clone(ctx, bundle, origin, repo.Branch)
	}
	return says.format, err
}

// clone makes the origin of a bundle, with the branch as its HEAD.
func (says head) clone(ctx context.Context, bundle, origin, branch string) error {
	half := origin + ".half"
	if err := os.RemoveAll(half); err != nil {
		return fmt.Errorf("remove incomplete clone: %w", err)
	}
	git := gitcmd.Git{Dir: filepath.Dir(origin)}
	args := []string{"init", "--quiet", "--bare", "--template=", "--object-format=" + says.format, "--initial-branch=" + branch, half}
	if _, err := git.Run(ctx, args...); err != nil {
		return err
	}
	if says.cuts != "" { // git must not search for their parents
		if err := os.WriteFile(filepath.Join(half, "shallow"), []byte(says.cuts), 0o644); err != nil { //nolint:gosec // as git writes it
			return fmt.Errorf("write the list of cut commits: %w", err)
		}
	}
	in := gitcmd.Git{Dir: half}
	if _, err := in.Run(ctx, "fetch", "--quiet", "--no-write-fetch-head", bundle, "+refs/heads/*:refs/heads/*"); err != nil {
		return fmt.Errorf("read the repository's bundle: %w", err)
	}
	if err := os.Rename(half, origin); err != nil {
		return fmt.Errorf("rename origin: %w", err)
	}
	return nil
}

// head has the properties of a bundle.
type head struct {
	format string // object format: sha1 or sha256
	cuts   string // commits at which the history is cut, one a line
}

// headOf reads the refs of a bundle.
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
func checkout(ctx context.Context, origin, work, format string, repo *agentconfig.Repo) error {
	git := gitcmd.Repository(work)
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
	_, err := git.Run(ctx, "checkout", "--quiet", "--force", "-B", repo.Branch, "refs/remotes/origin/"+repo.Branch)
	return err
}

// configure adds the settings of the new repository in one write, because a git process for each would take longer than
// the checkout.
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

// quote returns a value in the format of git's configuration file.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\x00", "").Replace(text) + `"`
}
