package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

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
	return nil, task.Errorf(task.CodeInvalid, "this host does not offer the sandbox provider %q", name)
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

// wiring is what omoi does with a row of [task.Providers] on this machine.
type wiring struct {
	// open returns the provider; [errNotOffered]: this machine has none.
	open func(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error)
	// configured reports whether the provider has the settings that it needs; nil: it needs none.
	configured func(cfg *config.Loaded) bool
	// reached reports whether agents in its sandboxes reach the API; nil: they do.
	reached func(cfg *config.Loaded) bool
	// doctor checks the provider; nil: there is nothing to check.
	doctor func(ctx context.Context, cfg *config.Loaded) []Finding
}

// wirings has one for each provider with machines.
//
//nolint:gochecknoglobals // a table; a test adds a row
var wirings = map[string]wiring{
	task.ProviderLocal: {
		open: openLocal, doctor: func(_ context.Context, cfg *config.Loaded) []Finding { return checkIsolation(cfg) },
	},
	task.ProviderDocker: {
		open: openDocker, doctor: func(ctx context.Context, cfg *config.Loaded) []Finding { return []Finding{checkDocker(ctx, cfg)} },
	},
	task.ProviderDaytona: {
		open:       func(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error) { return newDaytona(cfg, log) },
		configured: func(cfg *config.Loaded) bool { return cfg.Daytona.APIKey != "" },
		reached:    daytonaReports,
		doctor:     func(ctx context.Context, cfg *config.Loaded) []Finding { return []Finding{checkDaytona(ctx, cfg)} },
	},
}

var errNotOffered = errors.New("this machine does not offer the provider")

// openProviders opens all that this machine offers.
func openProviders(cfg *config.Loaded, log *slog.Logger) (providers, error) {
	if err := makeSocketDir(cfg.API.Socket); err != nil {
		return nil, err
	}
	found := providers{}
	for name, w := range wirings {
		provider, err := w.open(cfg, log)
		switch {
		case errors.Is(err, errNotOffered):
		case err != nil:
			return nil, err
		default:
			found[name] = provider
		}
	}
	return found, nil
}

func configured(cfg *config.Loaded, name string) bool {
	has := wirings[name].configured
	return has == nil || has(cfg)
}

// sharedProviders lists the configured providers whose sandboxes are bound to no host.
func sharedProviders(cfg *config.Loaded) (names []string) {
	for _, p := range task.Providers {
		if p.Machine && !p.HostBound && configured(cfg, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// openLocal opens the local provider. Where processes cannot be isolated, as on macOS, containers are enough.
func openLocal(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error) {
	provider, err := newLocal(cfg, log)
	if err != nil && runtime.GOOS != "linux" && offersDocker(cfg) {
		err = fmt.Errorf("%w: %w", errNotOffered, err)
	}
	return provider, err
}

// newLocal makes the local provider. Its folder must be open to other users when we are
// root, since each sandbox gets a user of its own.
func newLocal(cfg *config.Loaded, log *slog.Logger) (*local.Provider, error) {
	root := cfg.Sandbox.Dir
	if root == "" {
		var err error
		if root, err = place(cfg).MakePrivateDir("sandboxes"); err != nil {
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
		Programs: slices.Collect(maps.Values(programs(cfg))),
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

// programs are the paths of agent programs on this machine, by runtime.
func programs(cfg *config.Loaded) map[string]string {
	found := map[string]string{}
	for _, r := range agentRuntimes() {
		if path := r.find(cfg); path != "" {
			found[r.agent] = path
		}
	}
	return found
}

// pulls lists the providers whose sandboxes a worker reads.
func pulls(cfg *config.Loaded) (names []string) {
	for _, name := range task.ProviderNames() {
		set, reached := cfg.Transport.ByProvider[name], wirings[name].reached
		if set != nil && (*set == task.TransportPull || *set == "auto" && reached != nil && configured(cfg, name) && !reached(cfg)) {
			names = append(names, name)
		}
	}
	return names
}

func callback(cfg *config.Loaded) string { return cmp.Or(cfg.API.CallbackURL, apiURL(cfg)) }

// daytonaReports reports whether an agent at Daytona reaches the API. A Daytona server on this machine runs its sandboxes here. A
// sandbox without network reaches only the API's socket, which exists on this machine only.
func daytonaReports(cfg *config.Loaded) bool {
	return cfg.Sandbox.Network != string(sandbox.NetworkNone) && (remotelyReached(callback(cfg)) || !remotelyReached(cfg.Daytona.APIURL))
}

// remotelyReached reports whether an address may be one that other networks reach. A name says
// nothing, unless it can only be one of this network.
func remotelyReached(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsUnspecified() && !ip.IsLinkLocalUnicast()
	}
	return strings.Contains(host, ".") && !strings.HasSuffix(host, ".local") && !strings.HasSuffix(host, ".internal")
}
