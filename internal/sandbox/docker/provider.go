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

// Name is the provider's word on the wire.
const Name = task.ProviderDocker

// Provider makes sandboxes on one engine. It keeps nothing that a restart would miss.
type Provider struct {
	cfg    Config
	owner  owner
	log    *slog.Logger
	engine *client.Client

	frozen atomic.Bool // nothing is started

	mu    sync.Mutex
	known *facts // nil until the engine has answered; guarded by mu
	disks disks  // guarded by mu
}

var (
	_ sandbox.Provider = (*Provider)(nil)
	_ sandbox.Reacher  = (*Provider)(nil)
)

// New answers [task.CodeInvalid] for a bad configuration and [task.CodeUnavailable] where the
// folder of fences cannot be used. The engine need not answer yet.
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
		return nil, unavailable("make the folder of the docker provider", err)
	}
	return p, p.Prune(time.Now())
}

// Close gives up the connections to the engine; sandboxes stay.
func (p *Provider) Close() error { return p.engine.Close() }

// Name is "docker".
func (p *Provider) Name() string { return Name }

// Capabilities never change.
func (p *Provider) Capabilities() sandbox.Capabilities {
	return task.ProviderOf(Name).Capabilities
}

// Paths are the constants: a container has a file system of its own.
func (p *Provider) Paths(sandbox.Labels) sandbox.Paths { return sandbox.DefaultPaths() }

// Check asks the engine whether a sandbox could be made now. It answers which parts would
// keep it apart, and the version of the engine.
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

// HasImage reports whether the engine has the image of sandboxes, and names it.
func (p *Provider) HasImage(ctx context.Context) (string, bool, error) {
	_, err := p.engine.ImageInspect(ctx, p.cfg.Image)
	if err != nil && !cerrdefs.IsNotFound(err) {
		return p.cfg.Image, false, engineError("look at its images", err)
	}
	return p.cfg.Image, err == nil, nil
}

// network is the engine's name of what a sandbox may reach.
func (p *Provider) network(want sandbox.Network) string {
	if want == sandbox.NetworkNone {
		return NetworkNone
	}
	return p.cfg.Network
}

// APIURL is the socket where there is no network. On a bridge, an API that listens on the
// loopback address of this machine is out of reach too, but for an engine like Docker Desktop.
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

// onHost names this machine as a container on a bridge sees it.
func onHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Host = strings.TrimSuffix(net.JoinHostPort(hostName, u.Port()), ":") // no port, no colon
	return u.String()
}

// find looks at the container of these labels. It answers [task.CodeNotFound] where there is
// none, [sandbox.ErrNameTaken] where it is another's, [task.CodeUnavailable] where the engine
// cannot be asked.
func (p *Provider) find(ctx context.Context, labels sandbox.Labels) (container.InspectResponse, error) {
	if err := labels.Check(); err != nil {
		return container.InspectResponse{}, err
	}
	found, err := p.engine.ContainerInspect(ctx, task.SandboxName(labels.SandboxID))
	switch {
	case cerrdefs.IsNotFound(err):
		return found, task.Errorf(task.CodeNotFound, "the docker engine has no sandbox %s", labels.SandboxID)
	case err != nil:
		return found, engineError("look at sandbox "+labels.SandboxID, err)
	case found.Config == nil || labelsOf(found.Config.Labels) != labels || found.Config.Labels[labelRole] != roleSandbox:
		return found, sandbox.ErrNameTaken
	}
	return found, nil
}

// settled is a context that outlives its caller: what was begun at the engine is seen to its
// end, so that nothing comes late.
func settled(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
}
