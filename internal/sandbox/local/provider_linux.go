package local

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/task"
)

// Name is the provider's word on the wire.
const Name = task.ProviderLocal

// envShim marks the environment of a shim, so that a program which forgot to call
// [ShimMain] fails in [New] and does not start itself for ever.
const envShim = "OMOI_SHIM"

// Provider makes sandboxes of this machine. It keeps nothing that a restart would miss.
type Provider struct {
	cfg  Config
	log  *slog.Logger
	mode mode
	wrap wrapping
	bare string // why there is no bubblewrap; empty: there is
	cg   cgroups
	uids claims // used as root

	programs []string // files to bind read-only

	frozen atomic.Bool // nothing is started
}

var (
	_ sandbox.Provider = (*Provider)(nil)
	_ sandbox.Reacher  = (*Provider)(nil)
)

// New probes what this machine offers and says loudly where that is weak. It answers
// [task.CodeInvalid] for a bad configuration and [task.CodeUnavailable] where the folder
// cannot be used or required isolation is missing.
func New(cfg Config, log *slog.Logger) (*Provider, error) {
	if os.Getenv(envShim) != "" {
		return nil, task.Errorf(task.CodeInternal, "this program was started as a shim and did not call local.ShimMain")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, log: log, uids: claims{dir: uidDir, base: uidBase()}}
	if err := p.makeRoot(); err != nil {
		return nil, err
	}
	if err := p.probe(); err != nil {
		return nil, err
	}
	p.warn()
	return p, p.Prune(time.Now())
}

func (p *Provider) makeRoot() error {
	for _, dir := range []string{p.cfg.Root, filepath.Join(p.cfg.Root, ".fences"), filepath.Join(p.cfg.Root, ".trash")} {
		if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // G301: a sandbox's own user walks through
			return unavailable("make the sandbox folder", err)
		}
	}
	if os.Geteuid() != 0 {
		return nil
	}
	dir, err := closed(p.cfg.Root)
	if err != nil {
		return unavailable("look at the sandbox folder", err)
	}
	if dir != "" {
		return task.Invalid("root", "sandboxes run as their own users, and those cannot enter %s: choose a sandbox folder elsewhere, or chmod o+x", dir)
	}
	return nil
}

// Closed returns the first file or folder on the way up from a program that users of sandboxes cannot enter or run;
// empty: sandboxes can run the program.
func Closed(program string) (string, error) {
	if os.Geteuid() != 0 {
		return "", nil // sandboxes run as this user
	}
	return closed(program)
}

// reachable returns the programs that users of sandboxes can reach and that the usual folders do not hold.
func reachable(programs []string) []string {
	return slices.DeleteFunc(slices.Clone(programs), func(path string) bool {
		first, err := Closed(path)
		return strings.HasPrefix(path, "/usr/") || first != "" || err != nil
	})
}

func closed(path string) (string, error) {
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}

const seeDoctor = "omoi doctor; see docs/SECURITY.md"

// probe settles mode and limits by doing.
func (p *Provider) probe() error {
	p.cg = probeCgroups()
	p.programs = reachable(p.cfg.Programs)
	p.mode, p.bare = modeNone, "switched off by configuration"
	if p.cfg.Isolation != IsolationNone {
		var err error
		if p.wrap, err = p.probeWrap(); err == nil {
			p.mode, p.bare = modeBubblewrap, ""
			return nil
		}
		p.bare = err.Error()
	}
	if p.cfg.Isolation == IsolationRequire {
		return task.Errorf(task.CodeUnavailable, "bubblewrap does not work here (%s) and isolation is required: install bubblewrap, or allow unprivileged user namespaces", p.bare)
	}
	p.log.Warn("local sandboxes not isolated, agents can read and change what their user can",
		slog.String("reason", p.bare), slog.String("next", seeDoctor))
	return nil
}

// warn names what would bind an agent and does not work here.
func (p *Provider) warn() {
	active := p.Isolation()
	var missing []string
	for _, part := range []string{"cgroup-memory", "cgroup-cpu"} {
		if !slices.Contains(active, part) {
			missing = append(missing, part)
		}
	}
	if !slices.Contains(active, "cgroup-pids") && !slices.Contains(active, partProcesses) {
		missing = append(missing, partProcesses)
	}
	if p.mode == modeBubblewrap && len(p.wrap.filter) == 0 {
		missing = append(missing, "seccomp")
	}
	if len(missing) > 0 {
		p.log.Warn("local sandboxes lack isolation features", slog.String("missing", strings.Join(missing, ", ")), slog.String("next", seeDoctor))
	}
}

// Name is "local".
func (p *Provider) Name() string { return Name }

// Capabilities never change.
func (p *Provider) Capabilities() sandbox.Capabilities {
	return task.ProviderOf(Name).Capabilities
}

// Isolation answers which parts a sandbox made now would have; see [sandbox.Sandbox].
func (p *Provider) Isolation() []string { return p.parts(p.cfg.Network) }

// Unwrapped says why sandboxes have no bubblewrap around them; empty if they have.
func (p *Provider) Unwrapped() string { return p.bare }

// Paths answers the fixed places, or without bubblewrap those of the host.
func (p *Provider) Paths(labels sandbox.Labels) sandbox.Paths {
	f := p.folder(labels)
	var m meta
	if found, err := f.load(fileLabels, &m); !found || err != nil {
		m.Mode = p.mode
	}
	return m.paths(f)
}

func (m meta) paths(f folder) sandbox.Paths {
	if m.Mode == modeBubblewrap {
		return sandbox.DefaultPaths()
	}
	return f.paths()
}

// paths are the places of a sandbox on the host.
func (f folder) paths() sandbox.Paths {
	return sandbox.Paths{
		Dir: f.at(dirOmoi), Workspace: f.at(dirWS), Home: f.at(dirHome),
		Agent: f.at(dirOmoi) + strings.TrimPrefix(sandbox.AgentPath, sandbox.Dir),
	}
}

// APIURL is the socket wherever it is there and the API listens for this machine alone: it stays where it is when the
// API is started again on another port. Without bubblewrap a program sees it at its place on the host.
func (p *Provider) APIURL(want sandbox.Network, configured, socket string) string {
	switch {
	case want == sandbox.NetworkNone:
		return socket
	case p.cfg.APISocketDir == "" || !sandbox.Loopback(configured):
		return configured
	case p.mode == modeBubblewrap:
		return socket
	}
	return "unix://" + filepath.Join(p.cfg.APISocketDir, filepath.Base(strings.TrimPrefix(socket, "unix://")))
}

func (p *Provider) folder(labels sandbox.Labels) folder {
	return folder(filepath.Join(p.cfg.Root, task.SandboxName(labels.SandboxID)))
}

func (p *Provider) trash(labels sandbox.Labels) folder {
	return folder(filepath.Join(p.cfg.Root, ".trash", task.SandboxName(labels.SandboxID)))
}

// fence waits for the lock of a sandbox. Labels that name no sandbox are refused.
func (p *Provider) fence(ctx context.Context, labels sandbox.Labels) (*fence.Fence, error) {
	if err := labels.Check(); err != nil {
		return nil, err
	}
	return fence.Take(ctx, filepath.Join(p.cfg.Root, ".fences", task.SandboxName(labels.SandboxID)))
}

// Prune implements [sandbox.Pruner].
func (p *Provider) Prune(now time.Time) error {
	return fence.Prune(filepath.Join(p.cfg.Root, ".fences"), now)
}

// find loads the sandbox of these labels. It answers [task.CodeNotFound] where there is
// none, [sandbox.ErrNameTaken] where it is another's.
func (p *Provider) find(labels sandbox.Labels) (folder, meta, error) {
	f := p.folder(labels)
	if err := labels.Check(); err != nil {
		return f, meta{}, err
	}
	var m meta
	found, err := f.load(fileLabels, &m)
	switch {
	case err != nil:
		return f, m, err
	case !found:
		if _, err := os.ReadDir(p.cfg.Root); err != nil { // it may be there, and cannot be looked for
			return f, m, unavailable("read the sandbox folder", err)
		}
		return f, m, task.Errorf(task.CodeNotFound, "there is no sandbox %s on this host", labels.SandboxID)
	case m.Labels != labels:
		return f, m, sandbox.ErrNameTaken
	}
	return f, m, nil
}
