package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/docker"
	"github.com/omoi-dev/omoi/internal/task"
)

// dockerDir holds the fences of Docker sandboxes.
func dockerDir(cfg *config.Loaded) string {
	return filepath.Join(cfg.Home, "docker")
}

// newDocker makes the Docker provider over a folder of fences. The engine need not answer.
func newDocker(cfg *config.Loaded, dir string, log *slog.Logger) (*docker.Provider, error) {
	return docker.New(docker.Config{
		Host: cfg.Docker.Host, CertPath: cfg.Docker.CertPath, StateDir: dir, Image: cfg.Docker.Image, NoPull: cfg.Docker.Pull == "never",
		Network: cfg.Docker.Network, User: cfg.Docker.User,
		Limits: limits(cfg.Sandbox), APISocketDir: socketDir(cfg.API.Socket),
	}, log)
}

// offersDocker reports whether this machine offers Docker sandboxes. Where there may still be
// some it does, so that they are accounted for.
func offersDocker(cfg *config.Loaded) bool {
	switch cfg.Docker.Enabled {
	case "always":
		return true
	case "never":
		return false
	}
	left, err := os.ReadDir(dockerDir(cfg))
	return err == nil && len(left) > 0 || reachEngine(cfg) == nil
}

// dockerNeedsSocket reports whether containers of this machine reach the API by its socket only.
func dockerNeedsSocket(cfg *config.Loaded) bool {
	if runtime.GOOS != "linux" || cfg.Docker.Network == docker.NetworkHost || !offersDocker(cfg) {
		return false
	}
	return cfg.Docker.Network == docker.NetworkNone || sandbox.Loopback(callback(cfg))
}

// openDocker opens the Docker provider if this machine offers it.
func openDocker(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error) {
	if !offersDocker(cfg) {
		return nil, task.Errorf(task.CodeInvalid, "This machine offers no Docker sandboxes. Next: omoi doctor").WithCause(errNotOffered)
	}
	return newDocker(cfg, dockerDir(cfg), log)
}

// checkDocker asks the engine what a sandbox would be held to. It makes none.
func checkDocker(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "docker", Status: FindingOK, Detail: "not offered: docker.enabled is never"}
	wanted := cfg.Docker.Enabled == "always" || cfg.Task.Provider == task.ProviderDocker
	if cfg.Docker.Enabled == "never" && !wanted {
		return found
	}
	const until = "; until then tasks in Docker sandboxes cannot run"
	if err := reachEngine(cfg); err != nil {
		found.Detail, found.Next = "no usable Docker engine at "+cfg.Docker.Host, engineNext(err)+until
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
	return "the first task waits until the engine has pulled " + image + "; docker pull " + image + " does it now"
}

// reachEngine returns why the engine's socket cannot be used; nil if it can. It does not check an engine on the network, which
// an operator has configured.
func reachEngine(cfg *config.Loaded) error {
	path, here := strings.CutPrefix(cfg.Docker.Host, "unix://")
	if !here {
		return nil
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(context.Background(), "unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

// engineNext is what to do about an engine that cannot be reached.
func engineNext(unreached error) string {
	const again = ", and start omoi again; see docs/DOCKER.md"
	_, missing := exec.LookPath("dockerd")
	switch {
	case errors.Is(unreached, fs.ErrPermission):
		return "give your user access to its socket (usually by the group docker), or run omoi as a user with access" + again
	case errors.Is(unreached, fs.ErrNotExist) && missing != nil:
		return "install Docker, or set docker.host to an engine elsewhere" + again
	}
	return "start one, for example by `systemctl start docker`, or set docker.host" + again
}

// engineMends is what to do about an engine that was asked: what it said, or why it did not answer.
func engineMends(err error) string {
	if told, ok := errors.AsType[*task.Error](err); !ok || told.Code != task.CodeInvalid {
		return "look at `docker info` on this machine; see docs/DOCKER.md"
	} else if told.Field == "docker.network" {
		return "set docker.network to a network that `docker network ls` shows, or to host or none; see docs/DOCKER.md"
	}
	return "correct docker.host; see docs/DOCKER.md"
}
