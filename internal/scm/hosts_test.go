package scm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// local is a host that is there; nothing is asked of it.
type local struct{ scm.Host }

// What is no local repository is refused with what to do instead, and nothing is promised.
func TestHostsAreLocalOnly(t *testing.T) {
	t.Parallel()
	hosts := scm.Hosts{Local: local{}}
	_, err := hosts.For("/srv/git/app")
	require.NoError(t, err)
	for repo, want := range map[string]string{
		"":                               "absolute path",
		"someone/something":              `no local repository: "someone/something"`,
		"https://x:secret@host/app":      "A URL",
		"git@github.com:someone/app.git": "A URL",
		"nope":                           `"nope" is no absolute path`,
	} {
		_, err := hosts.For(repo)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), repo)
		require.Contains(t, task.MessageOf(err), want)
		require.NotContains(t, task.MessageOf(err), "owner/name")
		require.NotContains(t, task.MessageOf(err), "token")
		require.NotContains(t, task.MessageOf(err), "secret")
	}
	for _, repo := range []string{"", "owner/name", "./here", "plain", "/abs"} {
		_, err := scm.Hosts{}.For(repo)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), repo)
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''"} {
		require.Equal(t, want, scm.Quoted(path))
	}
}
