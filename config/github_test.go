package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
)

func TestGitHubApp_NeedsKeyAndID(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"GITHUB_APP_ID=7":                            "github.app_id: requires github.app_key_file",
		"GITHUB_APP_PRIVATE_KEY=nearly a secret":     "github.app_key: requires github.app_id",
		"OMOI_GITHUB_APP_KEY_FILE=/etc/omoi/app.pem": "github.app_key: requires github.app_id",
		"GITHUB_APP_ID=omoi":                         `"omoi" is not an integer`,
	} {
		_, err := config.Load(config.Source{Environ: []string{variable}})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "nearly")
	}
	loaded := load(t, config.Source{Environ: []string{"GITHUB_APP_ID=7", "OMOI_GITHUB_APP_KEY=nearly a secret"}})
	require.EqualValues(t, 7, loaded.GitHub.AppID)
	require.Contains(t, loaded.Secrets(), "nearly a secret")
}
