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
		return nil, task.Invalid("repo", "No repository is given: pass the absolute path of a local one.")
	case filepath.IsAbs(repo) && h.Local != nil:
		return h.Local, nil
	case filepath.IsAbs(repo):
		return nil, task.Invalid("repo", "This server does not work on local repositories, and this version knows no others.")
	case isOwnerName(repo):
		return nil, task.Invalid("repo", "This version works on local repositories only, and this is no local repository: %q. "+
			"Clone it and give the clone's absolute path.", repo)
	case isURL(repo): // not repeated: it may hold a password
		return nil, task.Invalid("repo", "This version works on local repositories only. A URL is none: clone it and give the clone's absolute path.")
	}
	return nil, task.Invalid("repo", "Repository %q is no absolute path. This version works on local repositories only.", repo)
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)

func isOwnerName(repo string) bool { return ownerName.MatchString(repo) }

func isURL(repo string) bool { return strings.Contains(repo, "://") || strings.HasPrefix(repo, "git@") }
