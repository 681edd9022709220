package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

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
