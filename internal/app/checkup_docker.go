package app

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// checkDocker asks the engine what a sandbox would be held to. It makes none.
func checkDocker(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "docker", Status: FindingOK, Detail: "not offered: docker.enabled is never"}
	wanted := cfg.Docker.Enabled == "always" || cfg.Task.Provider == task.ProviderDocker
	if cfg.Docker.Enabled == "never" && !wanted {
		return found
	}
	const until = "; until then tasks in Docker sandboxes cannot run"
	if err := reachEngine(cfg); err != nil {
		found.Detail, found.Next = "no engine that we may ask at "+cfg.Docker.Host, engineNext(err)+until
		if wanted {
			found.Status = FindingFail
			return found
		}
		found.Detail, found.Next = "not offered: "+found.Detail, "for Docker sandboxes: "+engineNext(err)
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	parts, err := askEngine(ctx, cfg, &found)
	if err == nil {
		found.Detail = strings.Join(parts, ", ")
		return found
	}
	found.Status, found.Detail, found.Next = FindingWarn, firstLine(err), engineMends(err)+until
	if wanted {
		found.Status = FindingFail
	}
	return found
}

// askEngine answers the parts of isolation, and puts an image that is missing into found.
func askEngine(ctx context.Context, cfg *config.Loaded, found *Finding) ([]string, error) {
	dir, err := os.MkdirTemp("", "omoi-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty
	p, err := newDocker(cfg, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer p.Close() //nolint:errcheck // only a client
	parts, version, err := p.Check(ctx, sandbox.Network(cfg.Sandbox.Network))
	if err != nil {
		return nil, err
	}
	image, there, err := p.HasImage(ctx)
	if err == nil && !there {
		found.Status, found.Next = FindingWarn, missingImage(cfg, image)
	}
	return append([]string{"engine " + version}, parts[1:]...), err
}

func missingImage(cfg *config.Loaded, image string) string {
	if cfg.Docker.Pull == "never" {
		return "the engine does not have the image " + image + ", and docker.pull is never: docker pull " + image
	}
	return "the first task waits until the engine has fetched " + image + "; docker pull " + image + " does it now"
}
