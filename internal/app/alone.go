package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/task"
)

// OpenProvider opens a provider as a worker with this configuration does, without a database. Without a Daytona key,
// OpenProvider uses the Daytona emulator of a running omoi dev.
func OpenProvider(cfg *config.Loaded, name string) (sandbox.Provider, error) {
	besideEmulator(cfg)
	if err := settleSocket(cfg); err != nil {
		return nil, err
	}
	found, known := wirings[name]
	if !known {
		return providers{}.Provider(name)
	}
	if err := makeSocketDir(cfg.API.Socket); err != nil {
		return nil, err
	}
	return found.open(cfg, slog.New(slog.DiscardHandler))
}

// CheckProvider runs the conformance checks on a provider of this machine. The checks do not touch the sandboxes of
// running tasks. CheckProvider returns an error at once if the provider does not answer.
func CheckProvider(ctx context.Context, cfg *config.Loaded, name string, o conformance.Options) (found []conformance.Result, err error) {
	own := *cfg
	if name == task.ProviderLocal {
		dir, err := besideSandboxes(&own)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it is empty but for folders; every sandbox in it was removed
	}
	o.Open = func() (sandbox.Provider, error) {
		now := own // OpenProvider changes the settings
		return OpenProvider(&now, name)
	}
	provider, err := o.Open()
	if err != nil {
		return nil, err
	}
	if _, err := provider.List(ctx, "check"); err != nil {
		return nil, fmt.Errorf("list sandboxes of %s: %w", name, err)
	}
	if provider.Capabilities().HostBound {
		o.CommandLines = commandLines
	}
	return conformance.Check(ctx, o)
}

// besideSandboxes sets sandbox.dir to a new folder next to the real one and returns its parent folder.
func besideSandboxes(cfg *config.Loaded) (string, error) {
	beside := existing(cmp.Or(cfg.Sandbox.Dir, place(cfg).PrivateDir("sandboxes")))
	dir, err := os.MkdirTemp(beside, ".check-")
	if err != nil {
		return "", task.Errorf(task.CodeInvalid, "Cannot create sandboxes: %s. Next: set sandbox.dir to a folder that you own", unwritable(beside, err))
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // sandboxes of other users must enter it
		return "", fmt.Errorf("open %s: %w", dir, err)
	}
	cfg.Sandbox.Dir = filepath.Join(dir, "sandboxes")
	return dir, nil
}

// commandLines returns the command lines of all processes of this machine; empty without /proc.
func commandLines() []string {
	var lines []string
	for _, one := range proctable.All() {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", one.PID)); err == nil && len(text) > 0 {
			lines = append(lines, strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " ")))
		}
	}
	return lines
}
