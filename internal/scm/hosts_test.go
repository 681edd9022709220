package scm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// local is a host that is there; nothing is asked of it.
type local struct{ scm.Host }

// What no host serves is refused with what to do instead, and no address is repeated.
func TestHosts(t *testing.T) {
	t.Parallel()
	who := scm.Owner{UserID: "u", ProjectID: "p"}
	var asked scm.Owner
	hosts := scm.Hosts{Local: local{}, Web: "https://github.com", Remote: func(o scm.Owner) scm.Host { asked = o; return local{} }}
	for _, repo := range []string{"/srv/git/app", "someone/something", "jane_acme/app"} {
		_, err := hosts.For(repo, who)
		require.NoError(t, err)
	}
	require.Equal(t, who, asked)
	for repo, want := range map[string]string{
		"":                               "absolute path",
		"https://x:secret@host/app":      "This address",
		"git@github.com:someone/app.git": "This address",
		"nope":                           `"nope" is neither`,
		"someone/..":                     "is neither",
	} {
		_, err := hosts.For(repo, who)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), repo)
		require.Contains(t, task.MessageOf(err), want)
		require.NotContains(t, task.MessageOf(err), "secret")
	}
}

// One repository has one name, however it is written.
func TestNameOfARepository(t *testing.T) {
	t.Parallel()
	hosts := scm.Hosts{Web: "https://github.com"}
	for given, want := range map[string]string{
		"acme/app":                                  "acme/app",
		"acme/app.git":                              "acme/app",
		"https://github.com/acme/app":               "acme/app",
		"https://github.com/acme/app.git":           "acme/app",
		"https://GitHub.com/acme/app/":              "acme/app",
		"git@github.com:acme/app.git":               "acme/app",
		"git@github.com:acme/app":                   "acme/app",
		"git@GitHub.com:/Acme/App.git":              "acme/app",
		"ssh://git@github.com/acme/app.git":         "acme/app",
		"ssh://git@github.com:22/acme/app":          "acme/app",
		"ssh://git@ssh.github.com:443/acme/app.git": "acme/app",
		"ssh://git:pw@github.com/acme/app":          "ssh://git:pw@github.com/acme/app",
		"ssh://git@example.com/acme/app":            "ssh://git@example.com/acme/app",
		"https://www.github.com/acme/app":           "acme/app",
		"https://github.com:8443/acme/app":          "https://github.com:8443/acme/app",
		"Acme/App":                                  "acme/app",
		"acme/app/":                                 "acme/app",
		"/srv/Git/App":                              "/srv/Git/App",
		"file:///srv/git/app.git":                   "/srv/git/app.git",
		"/srv/git/app.git":                          "/srv/git/app.git",
		"https://example.com/acme/app":              "https://example.com/acme/app",
		"https://me:pw@github.com/acme/app":         "https://me:pw@github.com/acme/app",
		"https://github.com/acme/app/pull/1":        "https://github.com/acme/app/pull/1",
	} {
		require.Equal(t, want, hosts.Name(given), given)
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''"} {
		require.Equal(t, want, scm.Quoted(path))
	}
}

// A server of one's own, and one of an enterprise's own domain of GitHub, have the same forms.
func TestNameOnAnotherServer(t *testing.T) {
	t.Parallel()
	for web, addresses := range map[string][]string{
		"https://git.example.com:8443": {"https://git.example.com:8443/Acme/App.git", "ssh://git@git.example.com:2222/acme/app", "git@git.example.com:acme/app.git"},
		"https://octo.ghe.com":         {"https://octo.ghe.com/acme/app/", "octo@octo.ghe.com:Acme/app.git", "ssh://octo@octo.ghe.com/acme/app.git"},
	} {
		for _, address := range addresses {
			require.Equal(t, "acme/app", scm.Hosts{Web: web}.Name(address), address)
		}
		require.Equal(t, "https://github.com/acme/app", scm.Hosts{Web: web}.Name("https://github.com/acme/app"))
	}
}
