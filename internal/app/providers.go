package app

import (
	"log/slog"
	"os/exec"
	"path/filepath"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// providers finds a sandbox provider by its wire name.
type providers map[string]sandbox.Provider

// Provider implements activities.Providers.
func (p providers) Provider(name string) (sandbox.Provider, error) {
	if found, ok := p[name]; ok {
		return found, nil
	}
	return nil, task.Errorf(task.CodeInvalid, "this machine has no sandbox provider %q", name)
}

// hostBound lists the providers whose sandboxes live on this machine.
func (p providers) hostBound() []string {
	var names []string
	for name, provider := range p {
		if provider.Capabilities().HostBound {
			names = append(names, name)
		}
	}
	return names
}

// sharedProviders lists the providers that are bound to no machine and that this process has
// what it needs for.
func sharedProviders(cfg *config.Loaded) []string {
	if cfg.Daytona.APIKey == "" {
		return nil
	}
	return []string{task.ProviderDaytona}
}

// newLocal makes the local provider. Its folder must be open to other users when we are
// root, since each sandbox gets a user of its own.
func newLocal(cfg *config.Loaded, log *slog.Logger) (*local.Provider, error) {
	root := cfg.Sandbox.Dir
	if root == "" {
		var err error
		here := place(cfg)
		if root, err = here.MakePrivateDir("sandboxes"); err != nil {
			return nil, err
		}
	}
	var shim []string
	if cfg.Test.ShimBinary != "" {
		shim = []string{cfg.Test.ShimBinary, "shim"}
	}
	return local.New(local.Config{
		Root: root, Shim: shim, Network: sandbox.Network(cfg.Sandbox.Network), Limits: limits(cfg.Sandbox),
		Isolation: local.Isolation(cfg.Sandbox.Isolation), APISocketDir: socketDir(cfg.API.Socket),
		Programs: programs(claudeBin(cfg)),
	}, log)
}

// claudeBin is Claude Code on this machine, where it lies and not where a link to it does;
// empty if there is none.
func claudeBin(cfg *config.Loaded) string {
	path := cfg.Claude.Bin
	if path == "" {
		path, _ = exec.LookPath("claude")
	}
	if path == "" {
		return ""
	}
	if found, err := filepath.EvalSymlinks(path); err == nil {
		path = found
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

func programs(path string) []string {
	if path == "" {
		return nil
	}
	return []string{path}
}
