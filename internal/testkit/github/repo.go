package github

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// repo is a bare repository and what the API knows of it.
type repo struct {
	owner, name string
	dir         string
	base        string // the default branch
	archived    bool
	id          int

	mu    sync.Mutex // of pulls
	pulls []*pull
}

func (r *repo) full() string { return r.owner + "/" + r.name }

// Add makes a repository with one commit on main, and answers the folder of the bare repository.
func (s *Server) Add(full string) (string, error) {
	dir, err := s.AddEmpty(full)
	if err != nil {
		return "", err
	}
	readme := "# " + full + "\n"
	stream := fmt.Sprintf("commit refs/heads/main\ncommitter GitHub <noreply@github.com> %d +0000\ndata 6\nBegin\n\nM 100644 inline README.md\ndata %d\n%s",
		time.Now().Unix(), len(readme), readme)
	_, err = gitIn(dir, []byte(stream), "fast-import", "--quiet")
	return dir, err
}

// AddEmpty makes a repository without a commit.
func (s *Server) AddEmpty(full string) (string, error) {
	owner, name, _ := strings.Cut(full, "/")
	dir := filepath.Join(s.dir, owner, name+".git")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("make %s: %w", dir, err)
	}
	if _, err := gitIn(dir, nil, "init", "--quiet", "--bare", "--initial-branch=main", "--template=", "."); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos[full] = &repo{owner: owner, name: name, dir: dir, base: "main", id: len(s.repos) + 1}
	return dir, nil
}

// Archive makes a repository read-only.
func (s *Server) Archive(full string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos[full].archived = true
}

// Protect refuses pushes to a branch, as a rule of the repository does.
func (s *Server) Protect(full, branch string) error {
	s.mu.Lock()
	dir := s.repos[full].dir
	s.mu.Unlock()
	hook := "#!/bin/sh\nif [ \"$1\" = 'refs/heads/" + branch + "' ]; then\n" +
		"  echo 'error: GH006: Protected branch update failed for '\"$1\". >&2\n  echo 'error: Changes must be made " +
		"through a pull request.' >&2\n  exit 1\nfi\n"
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o750); err != nil {
		return fmt.Errorf("make the folder of hooks: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "hooks", "update"), []byte(hook), 0o700) //nolint:gosec // G306: git runs it
}

// Unprotect takes every rule back.
func (s *Server) Unprotect(full string) error {
	s.mu.Lock()
	dir := s.repos[full].dir
	s.mu.Unlock()
	return os.RemoveAll(filepath.Join(dir, "hooks"))
}

// gitIn runs git in a repository and answers its trimmed output.
func gitIn(dir string, stdin []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "git", args...) //nolint:gosec // G204: of tests
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(stdin), &out, &errs
	cmd.Env = append(gitEnv(), "GIT_AUTHOR_NAME=GitHub", "GIT_AUTHOR_EMAIL=noreply@github.com",
		"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@github.com")
	if err := cmd.Run(); err != nil {
		return strings.TrimSpace(out.String()), fmt.Errorf("git %s: %w: %s", args[0], err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
	}
}

// resolve answers the commit at a revision, "" if there is none.
func (r *repo) resolve(rev string) string {
	commit, err := gitIn(r.dir, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return ""
	}
	return commit
}

// empty reports whether there is no branch at all.
func (r *repo) empty() bool { return len(r.refs("refs/heads/")) == 0 }

// ref is a ref and its commit.
type ref struct{ name, commit string }

// refs lists the refs that begin with prefix.
func (r *repo) refs(prefix string) []ref {
	out, err := gitIn(r.dir, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil
	}
	var all []ref
	for line := range strings.Lines(out) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, prefix) {
			all = append(all, ref{name, commit})
		}
	}
	return all
}

// heads answers the commits of the branches by their names.
func (r *repo) heads() map[string]string {
	heads := map[string]string{}
	for _, one := range r.refs("refs/heads/") {
		heads[strings.TrimPrefix(one.name, "refs/heads/")] = one.commit
	}
	return heads
}

// weigh adds up the files of a repository, in bytes.
func weigh(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
