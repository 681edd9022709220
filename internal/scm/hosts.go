package scm

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Owner is the user and project of a task. A host that needs credentials uses theirs.
type Owner struct {
	UserID    string // empty: no user
	ProjectID string // empty: no project
}

// Hosts finds the host of a repository by the form of its name.
type Hosts struct {
	// Local hosts repositories with absolute paths.
	Local Host
	// Remote returns the host of owner/name for an owner.
	Remote func(Owner) Host
	// Web is the address of the remote host in a browser, for example https://github.com.
	Web string
}

// For returns the host of repo: local for an absolute path, remote for owner/name. Any other form is [task.CodeInvalid]
// with the next step.
func (h Hosts) For(repo string, who Owner) (Host, error) {
	switch {
	case repo == "":
		return nil, task.Invalid("repo", "Missing repository: pass the absolute path of a local one, or owner/name of one on GitHub.")
	case filepath.IsAbs(repo):
		return h.Local, nil
	case isOwnerName(repo):
		return h.Remote(who), nil
	case strings.Contains(repo, "://"), strings.Contains(repo, "@"): // not quoted: it may hold a password
		return nil, task.Invalid("repo", "This address does not name a repository on %s. Next: pass owner/name, or clone it and pass the absolute path of the clone.", h.Web)
	}
	return nil, task.Invalid("repo", "Repository %q is neither an absolute path nor owner/name of a repository on GitHub.", repo)
}

// Name returns the canonical name of a repository. An address on the remote host becomes owner/name in lower case,
// since such a host ignores case. A file address becomes its path. Anything else stays as it is.
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

// pathIn returns the path of an address on the remote host; empty for another address. It rejects an address with a
// password.
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

// Names of GitHub Enterprise users may have an underscore.
var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}$`)

func isOwnerName(repo string) bool {
	_, _, ok := OwnerName(repo)
	return ok
}

// OwnerName splits owner/name.
func OwnerName(repo string) (owner, name string, ok bool) {
	owner, name, _ = strings.Cut(repo, "/")
	return owner, name, ownerName.MatchString(repo) && name != "." && name != ".."
}
