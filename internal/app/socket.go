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

// place is where data of this installation goes that other users of the machine reach.
func place(cfg *config.Loaded) devstack.Config {
	return devstack.Config{Home: cfg.Home, DataRoot: cmp.Or(cfg.Dev.PostgresDataRoot, "/var/lib/omoi")}
}

// settleSocket gives sandboxes that do not reach the API's address a socket, where none is named.
func settleSocket(cfg *config.Loaded) error {
	if cfg.API.Socket != "" || cfg.Sandbox.Network != "none" && !dockerNeedsSocket(cfg) {
		return nil
	}
	return makeSocket(cfg)
}

// settleDevSocket gives every sandbox of omoi dev a socket: the port may be another one at the next start.
// Where the kernel takes no path that long, or where there are no local sandboxes, those that need none have none.
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

// makeSocketDir makes the folder of the API's socket. A sandbox is given the folder, so it must
// be there before the first one is tried, even if the API comes later.
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

// socketDir is the folder of the API's socket, which a sandbox without network is given.
func socketDir(socket string) string {
	if socket == "" {
		return ""
	}
	return filepath.Dir(socket)
}

// listenSocket opens the socket to every user: its folder says who gets at it.
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
