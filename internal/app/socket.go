package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// place returns the location of data that other users of this machine access.
func place(cfg *config.Loaded) devstack.Config {
	return devstack.Config{Home: cfg.Home, DataRoot: cmp.Or(cfg.Dev.PostgresDataRoot, "/var/lib/omoi")}
}

// settleSocket sets api.socket, if unset, when sandboxes cannot reach the API's address.
func settleSocket(cfg *config.Loaded) error {
	if cfg.API.Socket != "" || cfg.Sandbox.Network != "none" && !dockerNeedsSocket(cfg) {
		return nil
	}
	return makeSocket(cfg)
}

// settleDevSocket sets api.socket for all sandboxes of omoi dev, because the port can change at the next start. If the
// path exceeds the kernel's limit, or on other systems than Linux, only sandboxes that need the socket get one.
func settleDevSocket(cfg *config.Loaded) error {
	const longest = 107
	path := filepath.Join(place(cfg).PrivateDir("api"), "api.sock")
	if cfg.API.Socket != "" || runtime.GOOS != "linux" || len(path) > longest {
		return settleSocket(cfg)
	}
	return makeSocket(cfg)
}

func makeSocket(cfg *config.Loaded) error {
	dir, err := place(cfg).MakePrivateDir("api")
	if err != nil {
		return fmt.Errorf("create the folder of the API's socket: %w", err)
	}
	cfg.API.Socket = filepath.Join(dir, "api.sock")
	return nil
}

// makeSocketDir creates the folder of the API's socket. Sandboxes mount the folder, so it must exist before the first
// sandbox, even if the API starts later.
func makeSocketDir(socket string) error {
	if socket == "" {
		return nil
	}
	dir := socketDir(socket)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	err := os.MkdirAll(dir, 0o755) //nolint:gosec // sandboxes of other users bind it
	if err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // whatever the umask
	}
	if err != nil {
		return task.Errorf(task.CodeInvalid, "Cannot create the folder %s of the API's socket. Next: create it, or set api.socket to another path", dir).WithCause(err)
	}
	return nil
}

// socketDir returns the folder of the API's socket; empty without a socket.
func socketDir(socket string) string {
	if socket == "" {
		return ""
	}
	return filepath.Dir(socket)
}

// listenSocket listens on a socket that all users may open. Access depends on the permissions of its folder.
func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	if err := makeSocketDir(path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the API's old socket: %w", err)
	}
	var lc net.ListenConfig
	socket, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the API's socket: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // see above
		return nil, errors.Join(err, socket.Close())
	}
	return socket, nil
}
