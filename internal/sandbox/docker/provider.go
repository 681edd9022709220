package docker

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Name is the wire value of the provider.
const Name = task.ProviderDocker

// Provider creates sandboxes on one engine. All state that must survive a restart is in the engine and in
// Config.StateDir.
type Provider struct {
	cfg    Config
	owner  owner
	log    *slog.Logger
	engine *client.Client

	frozen atomic.Bool // Start fails with [sandbox.ErrFrozen]

	mu    sync.Mutex
	known *facts // nil before the first answer of the engine; guarded by mu
	disks disks  // guarded by mu
}

var (
	_ sandbox.Provider = (*Provider)(nil)
	_ sandbox.Reacher  = (*Provider)(nil)
)

// New returns a provider without a request to the engine. An invalid configuration is [task.CodeInvalid], an unusable
// Config.StateDir is [task.CodeUnavailable].
func New(cfg Config, log *slog.Logger) (*Provider, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, log: log}
	if p.owner, err = parseOwner(cfg.User); err != nil {
		return nil, err
	}
	if p.engine, err = dial(cfg); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return nil, unavailable("create the state folder of the docker provider", err)
	}
	return p, p.Prune(time.Now())
}

// Close closes the connections to the engine. Sandboxes stay.
func (p *Provider) Close() error { return p.engine.Close() }

// Name returns [Name].
func (p *Provider) Name() string { return Name }

// Capabilities returns the constant capabilities of the provider.
func (p *Provider) Capabilities() sandbox.Capabilities {
	return task.ProviderOf(Name).Capabilities
}

// Paths returns the constants, because a container has its own file system.
func (p *Provider) Paths(sandbox.Labels) sandbox.Paths { return sandbox.DefaultPaths() }

// Check returns the isolation features of a new sandbox and the version of the engine, or the error that prevents a new
// sandbox.
func (p *Provider) Check(ctx context.Context, want sandbox.Network) (parts []string, version string, err error) {
	f, err := p.facts(ctx)
	if err != nil {
		return nil, "", err
	}
	network := p.network(want)
	if err := p.checkNetwork(ctx, network); err != nil {
		return nil, f.info.ServerVersion, err
	}
	return p.parts(f, network), f.info.ServerVersion, nil
}

// HasImage returns the name of the sandbox image, and reports whether the engine has it.
func (p *Provider) HasImage(ctx context.Context) (string, bool, error) {
	_, err := p.engine.ImageInspect(ctx, p.cfg.Image)
	if err != nil && !cerrdefs.IsNotFound(err) {
		return p.cfg.Image, false, engineError("inspect the image "+p.cfg.Image, err)
	}
	return p.cfg.Image, err == nil, nil
}

// network returns the network mode for want.
func (p *Provider) network(want sandbox.Network) string {
	if want == sandbox.NetworkNone {
		return NetworkNone
	}
	return p.cfg.Network
}

// APIURL returns the socket for sandboxes without a network, and for a bridge network if the API listens on the
// loopback address and the socket is mounted. Without the mount, for example with Docker Desktop, a bridge uses
// [hostName].
func (p *Provider) APIURL(want sandbox.Network, configured, socket string) string {
	switch network := p.network(want); {
	case network == NetworkNone:
		return socket
	case network == NetworkHost || !sandbox.Loopback(configured):
		return configured
	case p.cfg.APISocketDir != "":
		return socket
	}
	return onHost(configured)
}

// onHost replaces the host of an address by [hostName].
func onHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Host = strings.TrimSuffix(net.JoinHostPort(hostName, u.Port()), ":") // without a port there is no colon
	return u.String()
}

// find returns the container with these labels. Errors: [task.CodeNotFound] without a container, [sandbox.ErrNameTaken]
// if the container has other labels, [task.CodeUnavailable] if the engine does not answer.
func (p *Provider) find(ctx context.Context, labels sandbox.Labels) (container.InspectResponse, error) {
	if err := labels.Check(); err != nil {
		return container.InspectResponse{}, err
	}
	found, err := p.engine.ContainerInspect(ctx, task.SandboxName(labels.SandboxID))
	switch {
	case cerrdefs.IsNotFound(err):
		return found, task.Errorf(task.CodeNotFound, "the docker engine has no sandbox %s", labels.SandboxID)
	case err != nil:
		return found, engineError("inspect sandbox "+labels.SandboxID, err)
	case found.Config == nil || labelsOf(found.Config.Labels) != labels || found.Config.Labels[labelRole] != roleSandbox:
		return found, sandbox.ErrNameTaken
	}
	return found, nil
}

// settled returns a context that ignores the cancellation of ctx and ends after two minutes: an operation that the
// engine has started is awaited, so that its result does not come late.
func settled(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
}
