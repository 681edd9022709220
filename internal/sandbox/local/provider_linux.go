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

// Name is the wire value of the provider.
const Name = task.ProviderLocal

// envShim marks the environment of a shim. A program that does not call [ShimMain] then fails in [New], instead of
// starting itself without end.
const envShim = "OMOI_SHIM"

// Provider creates sandboxes on this machine. All state that must survive a restart is in Config.Root.
type Provider struct {
	cfg  Config
	log  *slog.Logger
	mode mode
	wrap wrapping
	bare string // reason why bubblewrap is not used; empty: it is
	cg   cgroups
	uids claims // used by root only

	programs []string // files to mount read-only

	frozen atomic.Bool // Start fails with [sandbox.ErrFrozen]
}

var (
	_ sandbox.Provider = (*Provider)(nil)
	_ sandbox.Reacher  = (*Provider)(nil)
)

// New tests the isolation features of this machine and logs a warning if some are missing. Errors: [task.CodeInvalid]
// for an invalid configuration, [task.CodeUnavailable] if Config.Root is unusable or required isolation is missing.
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
		if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // G301: users of sandboxes must enter
			return unavailable("create the sandbox folder", err)
		}
	}
	if os.Geteuid() != 0 {
		return nil
	}
	dir, err := closed(p.cfg.Root)
	if err != nil {
		return unavailable("check the permissions of the sandbox folder", err)
	}
	if dir != "" {
		return task.Invalid("root", "the users of sandboxes cannot enter %s. Next: choose another sandbox folder, or run chmod o+x on this one", dir)
	}
	return nil
}

// Closed returns the first file or folder on the path of a program that the users of sandboxes cannot enter or run;
// empty: sandboxes can run the program.
func Closed(program string) (string, error) {
	if os.Geteuid() != 0 {
		return "", nil // sandboxes run as this user
	}
	return closed(program)
}

// reachable returns the programs that the users of sandboxes can reach and that are not below /usr.
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

// probe sets mode and limits by testing what works.
func (p *Provider) probe() error {
	p.cg = probeCgroups()
	p.programs = reachable(p.cfg.Programs)
	p.mode, p.bare = modeNone, "disabled by the configuration"
	if p.cfg.Isolation != IsolationNone {
		var err error
		if p.wrap, err = p.probeWrap(); err == nil {
			p.mode, p.bare = modeBubblewrap, ""
			return nil
		}
		p.bare = err.Error()
	}
	if p.cfg.Isolation == IsolationRequire {
		return task.Errorf(task.CodeUnavailable, "isolation is required, and bubblewrap does not work on this host: %s. Next: install bubblewrap, or allow unprivileged user namespaces", p.bare)
	}
	p.log.Warn("local sandboxes not isolated, agents can read and change what their user can",
		slog.String("reason", p.bare), slog.String("next", seeDoctor))
	return nil
}

// warn logs the missing isolation features.
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

// Name returns [Name].
func (p *Provider) Name() string { return Name }

// Capabilities returns the constant capabilities of the provider.
func (p *Provider) Capabilities() sandbox.Capabilities {
	return task.ProviderOf(Name).Capabilities
}

// Isolation returns the isolation features of a new sandbox; see [sandbox.Sandbox].
func (p *Provider) Isolation() []string { return p.parts(p.cfg.Network) }

// Unwrapped returns the reason why sandboxes run without bubblewrap; empty: they run with it.
func (p *Provider) Unwrapped() string { return p.bare }

// Paths returns the constants, or folders of the host for a sandbox without bubblewrap.
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

// paths returns the folders of a sandbox on the host.
func (f folder) paths() sandbox.Paths { return PathsBelow(string(f)) }

// APIURL returns the socket if it is mounted and the API listens on loopback, because the socket's path stays the same
// when the API restarts on another port. A sandbox without bubblewrap uses the socket's path on the host.
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

// fence waits for the lock of a sandbox. Invalid labels are an error.
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

// find returns the sandbox with these labels. Errors: [task.CodeNotFound] without a sandbox, [sandbox.ErrNameTaken] if
// the sandbox has other labels.
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
		if _, err := os.ReadDir(p.cfg.Root); err != nil { // without access the sandbox may exist
			return f, m, unavailable("read the sandbox folder", err)
		}
		return f, m, task.Errorf(task.CodeNotFound, "sandbox %s not found on this host", labels.SandboxID)
	case m.Labels != labels:
		return f, m, sandbox.ErrNameTaken
	}
	return f, m, nil
}
