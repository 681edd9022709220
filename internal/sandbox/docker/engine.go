package docker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"github.com/omoi-dev/omoi/internal/task"
)

// dial returns a client without a request, because the engine may start later.
func dial(cfg Config) (*client.Client, error) {
	opts := []client.Opt{client.WithHost(cfg.Host), client.WithAPIVersionNegotiation()}
	if dir := cfg.CertPath; dir != "" {
		opts = append(opts, client.WithTLSClientConfig(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")))
	}
	made, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, task.Invalid("docker.host", "cannot use the address %q of the docker engine, or its certificates. Next: check docker.host", cfg.Host).WithCause(err)
	}
	return made, nil
}

func unavailable(doing string, err error) error {
	return task.Errorf(task.CodeUnavailable, "cannot %s", doing).WithCause(err)
}

// engineError returns [task.CodeUnavailable] for an error of the engine. doing completes "cannot", for example "list
// its volumes".
func engineError(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return task.Errorf(task.CodeUnavailable, "the docker engine did not %s in time", doing).WithCause(err)
	}
	return task.Errorf(task.CodeUnavailable, "the docker engine cannot %s. Next: run docker info on this machine", doing).WithCause(err)
}

// answered reports whether err is an answer of the engine, so that the engine does not act later.
func answered(err error) bool {
	return slices.ContainsFunc([]func(error) bool{
		cerrdefs.IsNotFound, cerrdefs.IsInvalidArgument, cerrdefs.IsConflict, cerrdefs.IsInternal, cerrdefs.IsUnauthorized,
		cerrdefs.IsPermissionDenied, cerrdefs.IsUnavailable, cerrdefs.IsNotImplemented, cerrdefs.IsUnknown,
	}, func(is func(error) bool) bool { return is(err) })
}

// facts are the capabilities of an engine.
type facts struct {
	info  system.Info
	quota bool // the engine enforces sizes of volumes
}

// facts returns the capabilities of the engine. Only the first successful call sends requests.
func (p *Provider) facts(ctx context.Context) (facts, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil {
		return *p.known, nil
	}
	info, err := p.engine.Info(ctx)
	if err != nil {
		return facts{}, engineError("report its version", err)
	}
	if info.OSType != "linux" {
		return facts{}, task.Invalid("docker.host", "the docker engine runs %s containers, and sandboxes need Linux containers", info.OSType)
	}
	found := facts{info: info, quota: p.probeQuota(ctx)}
	p.known = &found
	return found, nil
}

// probeQuota reports whether the engine creates a volume with a size. Only some file systems can.
func (p *Provider) probeQuota(ctx context.Context) bool {
	made, err := p.engine.VolumeCreate(ctx, volume.CreateOptions{
		Driver: "local", DriverOpts: map[string]string{"size": "16777216"}, Labels: map[string]string{labelRole: "probe"},
	})
	if err != nil {
		return false
	}
	return p.engine.VolumeRemove(context.WithoutCancel(ctx), made.Name, true) == nil
}

// security reports whether the engine has a security option, for example seccomp.
func (f facts) security(name string) bool {
	return slices.ContainsFunc(f.info.SecurityOptions, func(option string) bool {
		return option == "name="+name || strings.HasPrefix(option, "name="+name+",")
	})
}

// checkNetwork returns an error for a network that the engine does not have: some engines start such a container
// without a network.
func (p *Provider) checkNetwork(ctx context.Context, name string) error {
	if name == NetworkHost || name == NetworkNone {
		return nil
	}
	_, err := p.engine.NetworkInspect(ctx, name, network.InspectOptions{})
	switch {
	case cerrdefs.IsNotFound(err) && name == NetworkBridge:
		return task.Invalid("docker.network", "the docker engine has no network %q: it runs with --bridge=none. Next: set docker.network to host, none, or a network of the engine", name)
	case cerrdefs.IsNotFound(err):
		return task.Invalid("docker.network", "the docker engine has no network %q. Next: create it with `docker network create`, or set docker.network to host or none", name)
	}
	if err != nil {
		return engineError("inspect the network "+name, err)
	}
	return nil
}

// parts returns the isolation features of a sandbox on this network.
func (p *Provider) parts(f facts, on string) []string {
	parts := []string{"docker", "pidns", "uid", "no-capabilities", "no-new-privileges", "read-only-root"}
	for _, one := range []struct {
		name   string
		active bool
	}{
		{"netns", on != NetworkHost},
		{"seccomp", f.security("seccomp")},
		{"apparmor", f.security("apparmor")},
		{"selinux", f.security("selinux")},
		{"userns", f.security("userns")},
		{"rootless", f.security("rootless")},
		{"cgroup-memory", f.info.MemoryLimit},
		{"cgroup-pids", f.info.PidsLimit},
		{"cgroup-cpu", f.info.CPUCfsQuota},
		{"disk-quota", f.quota},
		{"disk-watch", !f.quota},
	} {
		if one.active {
			parts = append(parts, one.name)
		}
	}
	return parts
}
