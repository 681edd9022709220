package client_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestNameOfRepo(t *testing.T) {
	t.Parallel()
	for repo, want := range map[string]string{
		"/home/me/src/second": "second", "/srv/git/app.git": "app", "/home/me/app/.git": "app", "acme/app": "acme/app",
		"":                                 "",
		"/srv/" + strings.Repeat("ü", 200): strings.Repeat("ü", 127),
	} {
		require.Equal(t, want, client.NameOfRepo(repo), repo)
	}
}
