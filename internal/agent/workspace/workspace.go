// Package workspace makes the agent's working copy from a bundle, with a bare origin beside
// it, so that commit and push work inside without any credential.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/spec"
	"github.com/omoi-dev/omoi/internal/task"
)

// OriginName is the bare repository's name in the agent's folder.
const OriginName = "origin.git"

// Prepare makes the workspace, or goes on with the one of an earlier start. made says that
// the checkout is new. Without a repository it only makes the folder.
func Prepare(ctx context.Context, dir, work string, repo *spec.Repo) (made bool, err error) {
	if err := os.MkdirAll(work, 0o755); err != nil { //nolint:gosec // a working copy is no secret
		return false, fmt.Errorf("make workspace: %w", err)
	}
	if repo == nil {
		return false, nil
	}
	if !gitcmd.Available() {
		return false, task.Errorf(task.CodeUnavailable, "there is no git in the sandbox")
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
func makeOrigin(ctx context.Context, origin string, repo *spec.Repo) error {
	if _, err := os.Stat(origin); err == nil {
		return nil
	}
	bundle := repo.Bundle
	if bundle == "" {
		bundle = spec.InBundle
	}
	if _, err := os.Stat(bundle); err != nil {
		return fmt.Errorf("find the repository's bundle: %w", err)
	}
	half := origin + ".half"
	if err := os.RemoveAll(half); err != nil {
		return fmt.Errorf("clear half-made origin: %w", err)
	}
	git := gitcmd.Git{Dir: filepath.Dir(origin)}
	if _, err := git.Run(ctx, "init", "--quiet", "--bare", "--template=", half); err != nil {
		return err
	}
	in := gitcmd.Git{Dir: half}
	if _, err := in.Run(ctx, "fetch", "--quiet", "--no-write-fetch-head", bundle, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return fmt.Errorf("read the repository's bundle: %w", err)
	}
	if err := ensureBranch(ctx, in, bundle, repo); err != nil {
		return err
	}
	if _, err := in.Run(ctx, "symbolic-ref", "HEAD", "refs/heads/"+repo.Branch); err != nil {
		return err
	}
	if err := os.Rename(half, origin); err != nil {
		return fmt.Errorf("place origin: %w", err)
	}
	return nil
}

// ensureBranch makes the task's branch at its base where the bundle does not name it.
func ensureBranch(ctx context.Context, git gitcmd.Git, bundle string, repo *spec.Repo) error {
	ref := "refs/heads/" + repo.Branch
	if _, err := git.Run(ctx, "rev-parse", "--verify", "--quiet", ref); err == nil {
		return nil
	}
	if repo.Base == "" {
		return fmt.Errorf("the bundle does not hold the branch %q", repo.Branch)
	}
	if _, err := git.Run(ctx, "fetch", "--quiet", "--no-write-fetch-head", bundle, "HEAD"); err != nil && !isGitError(err) {
		return err // a bundle without HEAD is fine if it has the base
	}
	if _, err := git.Run(ctx, "update-ref", ref, repo.Base); err != nil {
		return fmt.Errorf("the bundle holds neither the branch %q nor its base: %w", repo.Branch, err)
	}
	return nil
}

func isGitError(err error) bool {
	_, ok := errors.AsType[*gitcmd.Error](err)
	return ok
}

// checkout fills the workspace, which may be a mount point that cannot be replaced. Each
// step may be repeated, so a start that died here is mended by the next.
func checkout(ctx context.Context, origin, work string, repo *spec.Repo) error {
	git := gitcmd.Repository(work)
	init := gitcmd.Git{Dir: work}
	if _, err := init.Run(ctx, "init", "--quiet", "--initial-branch="+repo.Branch, work); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(work, ".git", "index.lock")) // of a start that died
	settings := [][2]string{
		{"remote.origin.url", origin},
		{"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"},
		{"branch." + repo.Branch + ".remote", "origin"},
		{"branch." + repo.Branch + ".merge", "refs/heads/" + repo.Branch},
		{"push.default", "current"},
		{"user.name", or(repo.AuthorName, "omoi")},
		{"user.email", or(repo.AuthorEmail, "omoi@localhost")},
	}
	for _, s := range settings {
		if _, err := git.Run(ctx, "config", s[0], s[1]); err != nil {
			return err
		}
	}
	if _, err := git.Run(ctx, "fetch", "--quiet", "origin"); err != nil {
		return err
	}
	_, err := git.Run(ctx, "checkout", "--quiet", "--force", "-B", repo.Branch, "refs/remotes/origin/"+repo.Branch)
	return err
}

func or(text, def string) string {
	if text == "" {
		return def
	}
	return text
}
