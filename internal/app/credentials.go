package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/scm/github"
)

// credentialFile is a file in home.
const credentialFile = "credential.keys" //nolint:gosec // a name

// credentialRing returns the keys that encrypt credentials: the configured ones, else the one in home. The first start
// creates the key in home.
func credentialRing(cfg *config.Loaded) (*credential.Ring, error) {
	text, err := keep(cfg.Credential.Keys.Reveal(), cfg.Home, credentialFile, credential.NewKey)
	if err != nil {
		return nil, err
	}
	return credential.ParseRing(text)
}

// openCredentials opens the credential service.
func (c *core) openCredentials(ctx context.Context) error {
	c.credentials = credential.New(credential.Config{
		Installation: installed(c.cfg), Organization: c.organization, GitHubURL: gitHubAPI(c.cfg.GitHub.URL),
		TestPrivate: c.cfg.Credential.TestAllowPrivate, Subscriptions: c.cfg.Credential.AllowSeveralSubscriptions,
	}, c.sealing, c.store)
	c.showCredentials(ctx)
	return nil
}

// showCredentials warns at startup about credentials that this process cannot decrypt, because another process
// encrypted them with a different key.
func (c *core) showCredentials(ctx context.Context) {
	found, err := c.credentials.Health(ctx)
	switch {
	case err != nil:
		c.log.WarnContext(ctx, "check stored credentials failed", slog.Any("error", err))
	case found.Unreadable > 0:
		c.log.WarnContext(ctx, "decrypt stored credentials failed",
			slog.Int("unreadable", found.Unreadable), slog.Int("stored", found.Stored), slog.String("sealed_by", strings.Join(found.Keys, ", ")), slog.String("key_id", found.KeyID), slog.String("next", otherKeys))
	}
}

// otherKeys is the next step for credentials that cannot be decrypted.
const otherKeys = "give all processes of the installation the same OMOI_CREDENTIAL_KEYS, the old keys too, or have the credentials set again"

// gitHubAPI returns the API address of a GitHub server; empty for github.com.
func gitHubAPI(web string) string {
	web = strings.TrimRight(web, "/")
	if web == "" || web == github.Web {
		return ""
	}
	return github.API(web)
}

// installed returns the credentials in the configuration.
func installed(cfg *config.Loaded) map[string]credential.Value {
	key, token := cfg.Anthropic.APIKey, cfg.Anthropic.AuthToken
	return map[string]credential.Value{
		credential.Anthropic: {
			Secret: cmp.Or(key, token).Reveal(), Bearer: key == "" && token != "", BaseURL: cfg.Anthropic.BaseURL,
			Models: credential.Models{Model: cfg.Anthropic.Model},
		},
		// the model above applies too, if both use one endpoint
		credential.ClaudeOAuth: {Secret: cfg.Claude.OAuthToken.Reveal()},
		credential.GitHub:      {Secret: cfg.GitHub.Token.Reveal()},
	}
}

// checkCredentials checks whether the stored credentials can be decrypted with the keys of this machine.
func checkCredentials(ctx context.Context, cfg *config.Loaded, database string) Finding {
	const name = "credentials"
	ring, err := presentRing(cfg)
	if err != nil {
		return Finding{Check: name, Status: FindingFail, Detail: firstLine(err), Next: "correct or unset OMOI_CREDENTIAL_KEYS; docs/CREDENTIALS.md says how keys are made"}
	}
	database = cmp.Or(cfg.Database.URL.Reveal(), database)
	if database == "" {
		return judgeCredentials(ring != nil, credential.Health{})
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	found, err := credentialHealth(ctx, ring, database)
	if err != nil { // the check postgresql names the cause
		return Finding{Check: name, Status: FindingWarn, Detail: "not checked: the database does not answer", Next: "see what the check `postgresql` says"}
	}
	return judgeCredentials(ring != nil, found)
}

// presentRing returns the existing keys; nil if no key exists. Unlike credentialRing, presentRing creates no key.
func presentRing(cfg *config.Loaded) (*credential.Ring, error) {
	path := filepath.Join(cfg.Home, credentialFile)
	if _, err := os.Stat(path); cfg.Credential.Keys == "" && errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	return credentialRing(cfg)
}

func credentialHealth(ctx context.Context, ring *credential.Ring, database string) (found credential.Health, err error) {
	if ring == nil { // without a key, no credential can be decrypted
		if ring, err = credential.ParseRing(credential.NewKey()); err != nil {
			return found, err
		}
	}
	store, err := postgres.Open(ctx, database, postgres.Config{})
	if err != nil {
		return found, err
	}
	defer store.Close()
	return credential.New(credential.Config{}, ring, store).Health(ctx)
}

func judgeCredentials(hasKey bool, found credential.Health) Finding {
	const name = "credentials"
	switch {
	case found.Unreadable > 0:
		return Finding{Check: name, Status: FindingWarn, Next: otherKeys, Detail: fmt.Sprintf(
			"%d of %d cannot be read here: they are encrypted with the keys %s", found.Unreadable, found.Stored, strings.Join(found.Keys, ", "))}
	case !hasKey:
		return Finding{Check: name, Status: FindingOK, Detail: "no key yet; the first start creates one"}
	case found.KeyID == "":
		return Finding{Check: name, Status: FindingOK, Detail: "key exists; there is no database to check"}
	}
	return Finding{Check: name, Status: FindingOK, Detail: fmt.Sprintf("%d stored, all can be read; the key %s encrypts", found.Stored, found.KeyID)}
}
