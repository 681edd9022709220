package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// keepFor is how long the repositories of earlier demos stay, so that their diffs can be looked at.
const keepFor = 24 * time.Hour

// place is where a demo works: a bare repository that plays the remote, and a person's working
// copy of it.
type place struct {
	remote string
	work   string
	script string // the script as a file, for those who want to run it again
}

// makePlace makes a throw-away repository with one commit and its bare remote.
func makePlace(ctx context.Context, home string) (place, error) {
	root := filepath.Join(home, "demo")
	if err := os.MkdirAll(root, 0o750); err != nil {
		return place{}, fmt.Errorf("make a place for the demo: %w", err)
	}
	sweep(root, time.Now().Add(-keepFor))
	dir, err := os.MkdirTemp(root, "run-")
	if err != nil {
		return place{}, fmt.Errorf("make a place for the demo: %w", err)
	}
	p := place{remote: filepath.Join(dir, "remote.git"), work: filepath.Join(dir, "work"), script: filepath.Join(root, "script.json")}
	steps := [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", p.remote},
		{"clone", "--quiet", p.remote, p.work},
		{"-C", p.work, "switch", "--quiet", "-c", "main"},
		{"-C", p.work, "add", "README.md"},
		{"-C", p.work, "commit", "--quiet", "-m", "Begin"},
		{"-C", p.work, "push", "--quiet", "origin", "main"},
	}
	for i, args := range steps {
		if i == 3 {
			if err := os.WriteFile(filepath.Join(p.work, "README.md"), []byte("# A throw-away repository\n"), 0o600); err != nil {
				return place{}, fmt.Errorf("write the demo's first file: %w", err)
			}
		}
		if _, err := git(ctx, args...); err != nil {
			return place{}, err
		}
	}
	return p, nil
}

// sweep removes what demos before then have left.
func sweep(root string, before time.Time) {
	runs, err := filepath.Glob(filepath.Join(root, "run-*"))
	if err != nil {
		return
	}
	for _, run := range runs {
		if info, err := os.Stat(run); err == nil && info.ModTime().Before(before) {
			_ = os.RemoveAll(run)
		}
	}
}

// branchHolds fetches a branch into the working copy, as a person would, and reads a file of it.
func (p place) branchHolds(ctx context.Context, branch, file string) (string, error) {
	if _, err := git(ctx, "-C", p.work, "fetch", "--quiet", "origin"); err != nil {
		return "", err
	}
	return git(ctx, "-C", p.work, "show", "refs/remotes/origin/"+branch+":"+file)
}

// git runs git without the caller's own settings: the demo must not depend on them.
func git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // G204: our own arguments
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=omoi demo", "GIT_AUTHOR_EMAIL=demo@example.invalid",
		"GIT_COMMITTER_NAME=omoi demo", "GIT_COMMITTER_EMAIL=demo@example.invalid")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
