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
	// Local serves absolute paths.
	Local Host
	// Remote serves owner/name for an owner.
	Remote func(Owner) Host
	// Web is the address of the remote host for people, as https://github.com.
	Web string
}

// For answers the host of repo: an absolute path is local, owner/name remote. Anything else is
// [task.CodeInvalid] with the next step.
func (h Hosts) For(repo string, who Owner) (Host, error) {
	switch {
	case repo == "":
		return nil, task.Invalid("repo", "Missing repository: pass the absolute path of a local one, or owner/name of one on GitHub.")
	case filepath.IsAbs(repo):
		return h.Local, nil
	case isOwnerName(repo):
		return h.Remote(who), nil
	case strings.Contains(repo, "://"), strings.Contains(repo, "@"): // not repeated: it may hold a password
		return nil, task.Invalid("repo", "This address does not name a repository on %s. Next: pass owner/name, or clone it and pass the absolute path of the clone.", h.Web)
	}
	return nil, task.Invalid("repo", "Repository %q is neither an absolute path nor owner/name of a repository on GitHub.", repo)
}

// Name is the one form under which a repository is known: an address on the remote host becomes owner/name in small letters, which
// such a host does not tell apart from large ones, a file address its path. Whatever else it is stays as it is.
func (h Hosts) Name(repo string) string {
	if filepath.IsAbs(repo) {
		return repo
	}
	path := repo
	if u, err := url.Parse(repo); err == nil && u.Scheme == "file" && u.Host == "" {
		return filepath.Clean(u.Path)
	} else if err == nil && u.Host != "" {
		path = h.pathIn(u)
	} else if before, rest, ok := strings.Cut(repo, ":"); ok && strings.EqualFold(before[strings.Index(before, "@")+1:], h.web().Hostname()) {
		path = rest // user@host:owner/name
	}
	if name := strings.TrimSuffix(strings.Trim(path, "/"), ".git"); isOwnerName(name) {
		return strings.ToLower(name)
	}
	return repo
}

// pathIn is the path of an address on the remote host, empty for any other. One with a password is left alone.
func (h Hosts) pathIn(u *url.URL) string {
	web := h.web()
	same := func(name string) bool { return web.Host != "" && strings.EqualFold(u.Hostname(), name) }
	_, secret := u.User.Password()
	switch {
	case secret || u.RawQuery != "":
		return ""
	case u.Scheme == "ssh" && (same(web.Hostname()) || same("ssh."+web.Hostname())):
		return u.Path
	case (u.Scheme == "https" || u.Scheme == "http") && u.User == nil && u.Port() == web.Port() && (same(web.Hostname()) || same("www."+web.Hostname())):
		return u.Path
	}
	return ""
}

func (h Hosts) web() *url.URL {
	u, err := url.Parse(h.Web)
	if err != nil {
		return &url.URL{}
	}
	return u
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
