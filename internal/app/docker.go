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

// dockerDir returns the folder for the fences of Docker sandboxes.
func dockerDir(cfg *config.Loaded) string {
	return filepath.Join(cfg.Home, "docker")
}

// newDocker returns the Docker provider with its fences in dir. The engine may be unreachable.
func newDocker(cfg *config.Loaded, dir string, log *slog.Logger) (*docker.Provider, error) {
	return docker.New(docker.Config{
		Host: cfg.Docker.Host, CertPath: cfg.Docker.CertPath, StateDir: dir, Image: cfg.Docker.Image, NoPull: cfg.Docker.Pull == "never",
		Network: cfg.Docker.Network, User: cfg.Docker.User,
		Limits: limits(cfg.Sandbox), APISocketDir: socketDir(cfg.API.Socket),
	}, log)
}

// offersDocker reports whether this machine offers Docker sandboxes. With fences in dockerDir the answer is true even
// if the engine does not answer, so that existing sandboxes stay accounted for.
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

// dockerNeedsSocket reports whether containers of this machine reach the API by its Unix socket only.
func dockerNeedsSocket(cfg *config.Loaded) bool {
	if runtime.GOOS != "linux" || cfg.Docker.Network == docker.NetworkHost || !offersDocker(cfg) {
		return false
	}
	return cfg.Docker.Network == docker.NetworkNone || sandbox.Loopback(callback(cfg))
}

// openDocker opens the Docker provider if this machine offers Docker sandboxes.
func openDocker(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error) {
	if !offersDocker(cfg) {
		return nil, task.Errorf(task.CodeInvalid, "This machine offers no Docker sandboxes. Next: omoi doctor").WithCause(errNotOffered)
	}
	return newDocker(cfg, dockerDir(cfg), log)
}

// checkDocker checks the engine and the isolation features of its sandboxes. checkDocker creates no sandbox.
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

// askEngine returns the engine version and the isolation features. For a missing image askEngine adds a warning to
// found.
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

// reachEngine returns why the socket of the engine cannot be used, or nil. An engine on the network is not checked,
// because an operator configured the address.
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

// engineNext returns the next step for an engine that cannot be reached.
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

// engineMends returns the next step for an engine that returned an error.
func engineMends(err error) string {
	if told, ok := errors.AsType[*task.Error](err); !ok || told.Code != task.CodeInvalid {
		return "look at `docker info` on this machine; see docs/DOCKER.md"
	} else if told.Field == "docker.network" {
		return "set docker.network to a network that `docker network ls` shows, or to host or none; see docs/DOCKER.md"
	}
	return "correct docker.host; see docs/DOCKER.md"
}
