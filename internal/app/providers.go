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

// providers maps the name of a sandbox provider to the provider.
type providers map[string]sandbox.Provider

// Provider implements activities.Providers.
func (p providers) Provider(name string) (sandbox.Provider, error) {
	if found, ok := p[name]; ok {
		return found, nil
	}
	return nil, task.Errorf(task.CodeInvalid, "This host does not offer the sandbox provider %q. Next: omoi doctor", name)
}

// hostBound returns the names of providers whose sandboxes run on this machine.
func (p providers) hostBound() []string {
	var names []string
	for name, provider := range p {
		if provider.Capabilities().HostBound {
			names = append(names, name)
		}
	}
	return names
}

// wiring holds the functions that omoi needs for a row of [task.Providers].
type wiring struct {
	// open returns the provider, or [errNotOffered] if this machine does not offer it.
	open func(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error)
	// configured reports whether the required settings of the provider are set; nil: none are required.
	configured func(cfg *config.Loaded) bool
	// reached reports whether agents in its sandboxes can reach the API; nil: always.
	reached func(cfg *config.Loaded) bool
	// doctor checks the provider; nil: no checks.
	doctor func(ctx context.Context, cfg *config.Loaded) []Finding
}

// wirings has an entry for each provider with machines.
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
	task.ProviderOpenHands: {
		open:       func(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error) { return newOpenHands(cfg, log) },
		configured: func(cfg *config.Loaded) bool { address, _ := openHandsAccess(cfg); return address != "" },
		reached:    openHandsReports,
		doctor:     func(ctx context.Context, cfg *config.Loaded) []Finding { return []Finding{checkOpenHands(ctx, cfg)} },
	},
}

var errNotOffered = errors.New("this machine does not offer the provider")

// openProviders opens all providers that this machine offers.
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

// sharedProviders returns the configured providers whose sandboxes are not bound to a host.
func sharedProviders(cfg *config.Loaded) (names []string) {
	for _, p := range task.Providers {
		if p.Machine && !p.HostBound && configured(cfg, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// openLocal opens the local provider. Where processes cannot be isolated, for example on macOS, the Docker provider
// suffices.
func openLocal(cfg *config.Loaded, log *slog.Logger) (sandbox.Provider, error) {
	provider, err := newLocal(cfg, log)
	if err != nil && runtime.GOOS != "linux" && offersDocker(cfg) {
		err = fmt.Errorf("%w: %w", errNotOffered, err)
	}
	return provider, err
}

// newLocal returns the local provider. Root gives each sandbox a user of its own, so its folder must be accessible to
// other users.
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

// claudeBin returns the absolute path of Claude Code on this machine with symbolic links resolved; empty: not found.
func claudeBin(cfg *config.Loaded) string {
	if cfg.Claude.Bin == "" {
		return onPath("claude")
	}
	return whole(cfg.Claude.Bin)
}

// onPath returns the absolute path of a program on PATH with symbolic links resolved; empty: not found.
func onPath(program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	return whole(path)
}

// whole returns the absolute path of a file with symbolic links resolved.
func whole(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		path = found
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// programs returns the paths of agent programs on this machine by runtime.
func programs(cfg *config.Loaded) map[string]string {
	found := map[string]string{}
	for _, r := range agentRuntimes() {
		if path := r.find(cfg); path != "" {
			found[r.agent] = path
		}
	}
	return found
}

// pulls returns the providers whose sandboxes use the pull transport.
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

// daytonaReports reports whether an agent at Daytona can reach the API. A Daytona server on this machine runs its
// sandboxes here. Sandboxes without network reach only the API's socket, which exists on this machine only.
func daytonaReports(cfg *config.Loaded) bool {
	return cfg.Sandbox.Network != string(sandbox.NetworkNone) && (remotelyReached(callback(cfg)) || !remotelyReached(cfg.Daytona.APIURL))
}

// remotelyReached reports whether other networks may reach an address. A host name counts as reachable, unless the name
// is only valid in a local network.
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
