package app

import (
	"cmp"
	"strings"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/scm/github"
)

// credentialRing takes the keys that encrypt credentials from the configuration, or from home, where one is
// made on the first start.
func credentialRing(cfg *config.Loaded) (*credential.Ring, error) {
	text := cfg.Credential.Keys.Reveal()
	if text == "" {
		var err error
		if text, err = keep(cfg.Home, "credential.keys", credential.NewKey); err != nil {
			return nil, err
		}
	}
	return credential.ParseRing(text)
}

// openCredentials makes what keeps and finds credentials.
func (c *core) openCredentials() error {
	ring, err := credentialRing(c.cfg)
	if err != nil {
		return err
	}
	c.credentials = credential.New(credential.Config{
		Installation: installed(c.cfg), Organization: c.organization, GitHubURL: gitHubAPI(c.cfg.GitHub.URL),
	}, ring, c.store)
	return nil
}

// gitHubAPI is where a server's API is; empty: GitHub's own.
func gitHubAPI(web string) string {
	web = strings.TrimRight(web, "/")
	if web == "" || web == github.Web {
		return ""
	}
	return github.API(web)
}

// installed are the credentials that the installation is configured with.
func installed(cfg *config.Loaded) map[string]credential.Value {
	key, token := cfg.Anthropic.APIKey, cfg.Anthropic.AuthToken
	return map[string]credential.Value{
		credential.Anthropic: {
			Secret: cmp.Or(key, token).Reveal(), Bearer: key == "" && token != "", BaseURL: cfg.Anthropic.BaseURL,
			Models: credential.Models{Model: cfg.Anthropic.Model},
		},
		credential.ClaudeOAuth: {Secret: cfg.Claude.OAuthToken.Reveal()}, // and the model above, where both are used at one endpoint
		credential.GitHub:      {Secret: cfg.GitHub.Token.Reveal()},
	}
}
