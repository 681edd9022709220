package app

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
)

// gitHubApp is the GitHub App that is configured, nil if none is.
func gitHubApp(cfg *config.Loaded) (*github.App, error) {
	if cfg.GitHub.AppID == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	key, err := gitHubKey(cfg.GitHub)
	if err != nil {
		return nil, err
	}
	return github.NewApp(github.AppConfig{ID: cfg.GitHub.AppID, Key: key, URL: cfg.GitHub.URL})
}

// gitHubKey is the App's private key; in a variable its lines may be written as one.
func gitHubKey(g config.GitHub) ([]byte, error) {
	if key := g.AppKey.Reveal(); key != "" {
		return []byte(strings.ReplaceAll(key, `\n`, "\n")), nil
	}
	key, err := os.ReadFile(g.AppKeyFile)
	if err != nil {
		return nil, task.Errorf(task.CodeInvalid, "github.app_key_file %s cannot be read; make it readable for the user that omoi runs as", g.AppKeyFile).WithCause(err)
	}
	return key, nil
}

const gitHubTimeout = 5 * time.Second

// checkGitHub says with what omoi works on GitHub where its users bring no token.
func checkGitHub(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "github", Status: FindingOK}
	app, err := gitHubApp(cfg)
	switch {
	case err == nil && app != nil:
		ctx, stop := context.WithTimeout(ctx, gitHubTimeout)
		defer stop()
		found.Detail, err = app.Probe(ctx)
	case cfg.GitHub.Token != "":
		found.Detail, found.Next = "GITHUB_TOKEN is set", "omoi credentials test github"
	default:
		found.Detail, found.Next = "neither GITHUB_TOKEN nor a GitHub App: each user brings a token", "omoi credentials set github; see docs/GITHUB.md"
	}
	if err != nil {
		found.Status, found.Detail, found.Next = FindingWarn, task.MessageOf(err), "see docs/GITHUB.md"
	}
	return found
}
