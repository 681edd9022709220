package scm

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Hosts finds the host of a repository by the way it is written.
type Hosts struct {
	// Local serves absolute paths; nil refuses them.
	Local Host
}

// For answers the host of repo: an absolute path is local. Anything else is
// [task.CodeInvalid] with the next step.
func (h Hosts) For(repo string) (Host, error) {
	switch {
	case repo == "":
		return nil, task.Invalid("repo", "No repository is given: pass owner/name or the absolute path of a local one.")
	case filepath.IsAbs(repo) && h.Local != nil:
		return h.Local, nil
	case filepath.IsAbs(repo):
		return nil, task.Invalid("repo", "This server does not work on local repositories: pass owner/name.")
	case isOwnerName(repo):
		return nil, task.Invalid("repo",
			"GitHub comes with a token: this server has no GitHub host for %q yet. Clone it and pass the clone's absolute path.", repo)
	case strings.Contains(repo, "://"), strings.HasPrefix(repo, "git@"):
		return nil, task.Invalid("repo", "A URL is no repository name: pass owner/name, or clone it and pass the absolute path.")
	}
	return nil, task.Invalid("repo", "Repository %q is neither owner/name nor an absolute path.", repo)
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)

func isOwnerName(repo string) bool { return ownerName.MatchString(repo) }
