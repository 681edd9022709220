package taskcmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/cli/exit"
)

// repository is what the server is told: a path made absolute, of the repository around it where it is a folder
// of one; what cannot be a path as it is. Nothing given: the repository around the current folder.
func (r *run) repository() (string, error) {
	if r.repo != "" {
		return r.named(r.repo)
	}
	dir, err := r.path(".")
	if err != nil {
		return "", exit.With(exit.Usage, err)
	}
	top := enclosing(dir)
	if top == "" {
		return "", exit.Usagef("the current folder is in no git repository: give one with --repo <path>")
	}
	return top, nil
}

// named is the repository that a person names, as the server takes it.
func (s *session) named(repo string) (string, error) {
	path, err := s.path(repo)
	if err != nil {
		return "", exit.With(exit.Usage, err)
	}
	switch {
	case filepath.IsAbs(repo): // it may be one of the server's machine
		return path, nil
	case isFolder(path):
		if top := enclosing(path); top != "" {
			return top, nil
		}
		return path, nil
	case exists(path):
		return "", exit.Usagef("--repo: %s is a file; give the folder of a git repository", repo)
	case isRemote(repo):
		return repo, nil
	}
	return "", exit.Usagef("--repo: there is no folder %s here (%s); give the path of a git repository", repo, path)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)

// isRemote tells names of repositories elsewhere, about which the server has something to say.
func isRemote(repo string) bool {
	return strings.Contains(repo, "://") || strings.HasPrefix(repo, "git@") || ownerName.MatchString(repo)
}

// enclosing is the top of the repository that a folder is or lies in, "" if there is none.
func enclosing(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	for {
		git := filepath.Join(dir, ".git")
		bare := exists(filepath.Join(dir, "HEAD")) && exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
		if info, err := os.Stat(git); bare || err == nil && (!info.IsDir() || exists(filepath.Join(git, "HEAD"))) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
