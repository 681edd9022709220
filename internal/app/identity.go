package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// tokenRing returns the keys of sandbox tokens: the configured ones, else the one in home. The first start creates the
// key in home.
func tokenRing(cfg *config.Loaded) (*token.Ring, error) {
	text, err := keep(cfg.Token.Key.Reveal(), cfg.Home, "token.key", newKey)
	if err != nil {
		return nil, err
	}
	current, err := parseKey("token.key", text)
	if err != nil {
		return nil, err
	}
	if cfg.Token.PreviousKey == "" {
		return token.NewRing(current, nil)
	}
	previous, err := parseKey("token.previous_key", cfg.Token.PreviousKey.Reveal())
	if err != nil {
		return nil, err
	}
	return token.NewRing(current, &previous)
}

// logins returns the verifier of JWTs; nil if no secret is configured.
func logins(cfg *config.Loaded) (api.Logins, error) {
	switch {
	case cfg.API.JWTSecret == "" && cfg.API.JWTPreviousSecret != "":
		return nil, task.Invalid("api.jwt_previous_secret", "Invalid api.jwt_previous_secret: api.jwt_secret is not set. Next: set the new secret there, or remove both to accept no JWTs")
	case cfg.API.JWTSecret == "":
		return nil, nil //nolint:nilnil // none is taken
	case cfg.API.JWTPreviousSecret == "":
		return token.NewLogins(cfg.API.JWTSecret.Reveal())
	}
	return token.NewLogins(cfg.API.JWTSecret.Reveal(), cfg.API.JWTPreviousSecret.Reveal())
}

// keyStore stores the print of the installation's signing key.
type keyStore interface {
	TokenKey(ctx context.Context) (token.Print, error)
	SetTokenKey(ctx context.Context, was, now token.Print) (bool, error)
}

// agree returns an error if the token key differs from the installation's, because sandboxes of one process report to
// any process of the installation. With a database that only this home uses, agree replaces the key, because the old
// one is lost.
func (c *core) agree(ctx context.Context) error {
	lost, err := agreeOn(ctx, c.store, c.ring, !c.cfg.Given("database.url"))
	if lost {
		c.log.WarnContext(ctx, "sandbox token key replaced, running sandboxes can no longer report")
	}
	return err
}

// agreeOn records the signing key of ring as the installation's key if no key is recorded, if ring also holds the
// recorded key, or with force. The result lost is true if ring does not hold the recorded key.
func agreeOn(ctx context.Context, store keyStore, ring *token.Ring, force bool) (lost bool, err error) {
	for own := ring.Signs(); ; {
		known, err := store.TokenKey(ctx)
		if err != nil || known == own {
			return false, err
		}
		lost := known != (token.Print{}) && !ring.Holds(known)
		if lost && !force {
			return false, errOtherKey(known, own)
		}
		if written, err := store.SetTokenKey(ctx, known, own); err != nil || written {
			return lost, err
		}
	}
}

func errOtherKey(known, own token.Print) error {
	return task.Errorf(task.CodeUnauthorized, "Cannot start: the sandboxes of this installation use tokens of the key %s, and this process has the key %s. Next: "+
		"set OMOI_TOKEN_KEY to the same key on every machine; a generated key is in the file token.key of the OMOI_HOME where omoi first started", known.KeyID, own.KeyID)
}

// newKey returns a key of 32 random bytes with a random ID, as "id.secret".
func newKey() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never returns an error
	return strings.ToLower(rand.Text()[:8]) + "." + base64.RawURLEncoding.EncodeToString(secret)
}

func parseKey(setting, text string) (token.Key, error) {
	id, encoded, found := strings.Cut(text, ".")
	encoded = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(encoded, "="))
	secret, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !found { // without an ID the whole text is secret: no error may contain it
		return token.Key{}, task.Invalid(setting, "Invalid %s: expected id.secret with the secret in base64", setting)
	}
	return token.Key{ID: id, Secret: secret}, nil
}

// hostID returns the ID of this machine: the configured one, else a random one kept in home.
func hostID(cfg *config.Loaded) (string, error) {
	return keep(cfg.Worker.HostID, cfg.Home, "host.id", func() string { return strings.ToLower(rand.Text()[:16]) })
}

// keep returns the configured value, else the content of a file in home. The first call creates the file with mode
// 0600. Concurrent processes get the same content.
func keep(configured, home, name string, create func() string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	path := filepath.Join(home, name)
	content, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(content)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if err := publish(home, path, create()); err != nil {
		return "", err
	}
	content, err = os.ReadFile(path)
	return strings.TrimSpace(string(content)), err
}

// publish writes a complete file atomically, unless the file exists.
func publish(home, path, content string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("create home directory: %w", err)
	}
	temp, err := os.CreateTemp(home, ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temp.WriteString(content + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		if err = os.Link(temp.Name(), path); errors.Is(err, os.ErrExist) {
			err = nil
		}
	}
	return errors.Join(err, os.Remove(temp.Name()))
}
