package scm

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Owner is for whom a repository is worked on: a host that asks for credentials uses theirs.
type Owner struct {
	UserID    string // empty: nobody in particular
	ProjectID string // empty: none yet
}

// Hosts finds the host of a repository by the way it is written.
type Hosts struct {
	// Local serves absolute paths; nil refuses them.
	Local Host
	// Remote serves owner/name for an owner; nil refuses them.
	Remote func(Owner) Host
	// Web is the address of the remote host for people, as https://github.com.
	Web string
}

// For answers the host of repo: an absolute path is local, owner/name remote. Anything else is
// [task.CodeInvalid] with the next step.
func (h Hosts) For(repo string, who Owner) (Host, error) {
	switch {
	case repo == "":
		return nil, task.Invalid("repo", "No repository is given: pass the absolute path of a local one, or owner/name of one on GitHub.")
	case filepath.IsAbs(repo) && h.Local != nil:
		return h.Local, nil
	case filepath.IsAbs(repo):
		return nil, task.Invalid("repo", "This server does not work on local repositories: pass owner/name of one on GitHub.")
	case isOwnerName(repo) && h.Remote != nil:
		return h.Remote(who), nil
	case isOwnerName(repo):
		return nil, task.Invalid("repo", "This server works on local repositories only, and this is none: %q.", repo)
	case isURL(repo): // not repeated: it may hold a password
		return nil, task.Invalid("repo", "This address is of no repository on %s. Next: pass owner/name, or clone it and pass the absolute path of the clone.", h.Web)
	}
	return nil, task.Invalid("repo", "Repository %q is neither an absolute path nor owner/name of a repository on GitHub.", repo)
}

// Name is the one form under which a repository is known: an address on the remote host becomes
// owner/name, a file address its path. Whatever else it is stays as it is.
func (h Hosts) Name(repo string) string {
	rest := repo
	if host := h.webHost(); strings.HasPrefix(repo, "git@"+host+":") {
		rest = strings.TrimPrefix(repo, "git@"+host+":")
	} else if u, err := url.Parse(repo); err == nil && u.User == nil && u.RawQuery == "" {
		switch {
		case u.Scheme == "file" && u.Host == "":
			return filepath.Clean(u.Path)
		case (u.Scheme == "https" || u.Scheme == "http") && strings.EqualFold(u.Host, host) && host != "":
			rest = strings.Trim(u.Path, "/")
		}
	}
	if name := strings.TrimSuffix(rest, ".git"); isOwnerName(name) && !filepath.IsAbs(repo) {
		return name
	}
	return repo
}

func (h Hosts) webHost() string {
	u, err := url.Parse(h.Web)
	if err != nil {
		return ""
	}
	return u.Host
}

// An enterprise gives its users names with an underscore.
var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}$`)

func isOwnerName(repo string) bool {
	_, _, ok := OwnerName(repo)
	return ok
}

// OwnerName takes owner/name apart.
func OwnerName(repo string) (owner, name string, ok bool) {
	owner, name, _ = strings.Cut(repo, "/")
	return owner, name, ownerName.MatchString(repo) && name != "." && name != ".."
}

func isURL(repo string) bool { return strings.Contains(repo, "://") || strings.HasPrefix(repo, "git@") }
