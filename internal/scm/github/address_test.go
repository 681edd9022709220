package github_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm/github"
)

func TestAPI(t *testing.T) {
	t.Parallel()
	for web, want := range map[string]string{
		"":                             "https://api.github.com",
		"https://github.com/":          "https://api.github.com",
		"https://octo.ghe.com":         "https://api.octo.ghe.com",
		"https://Octo.GHE.com/":        "https://api.Octo.GHE.com",
		"https://git.example.com:8443": "https://git.example.com:8443/api/v3",
	} {
		require.Equal(t, want, github.API(web), web)
	}
}
