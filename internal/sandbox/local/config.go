package local

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Isolation selects the isolation of sandboxes.
type Isolation string

// Values of Isolation.
const (
	IsolationAuto    Isolation = "auto"    // bubblewrap if it works, else process groups and a warning
	IsolationRequire Isolation = "require" // New fails if bubblewrap does not work
	IsolationNone    Isolation = "none"    // process groups, even if bubblewrap works
)

// Config configures the provider.
type Config struct {
	// Root is the folder of the sandboxes. New creates it. As root, each sandbox runs as its own user, so every folder
	// above Root must be open to other users (o+x).
	Root string
	// Shim is the argv prefix of a program that calls [ShimMain] with the remaining arguments. Empty: this program with
	// the argument "shim".
	Shim []string
	// Network is the default network of a sandbox; empty: [sandbox.NetworkHost].
	Network sandbox.Network
	// Limits are the default limits of a sandbox. Zero: 4 GiB of memory, 2 CPUs, 8 GB of disk and 1024 processes. The
	// disk limit is not enforced on each write: the provider measures the folder, and kills a command above the limit.
	Limits sandbox.Limits
	// APISocketDir is a folder of the host with the socket api.sock, mounted at /run/omoi in sandboxes. Empty: none, so
	// that a sandbox without network has no connection at all.
	APISocketDir string
	// Isolation is the isolation of sandboxes; empty: [IsolationAuto].
	Isolation Isolation
	// Programs are files of the host that sandboxes see read-only, at the same paths. A file that the users of
	// sandboxes cannot reach is left out.
	Programs []string
}

// StandardPath is the PATH of a command, after the folder of omoi-agent.
const StandardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxProcesses is the largest process limit of a sandbox.
const maxProcesses = 4096

func (c Config) withDefaults() (Config, error) {
	if c.Root == "" {
		return c, task.Invalid("root", "the local provider needs a sandbox folder")
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return c, task.Invalid("root", "the folder %q has no absolute path", c.Root).WithCause(err)
	}
	c.Root = root
	c.Network, c.Isolation = cmp.Or(c.Network, sandbox.NetworkHost), cmp.Or(c.Isolation, IsolationAuto)
	c.Limits = c.Limits.Or(sandbox.Limits{Processes: 1024}).Or(sandbox.DefaultLimits())
	switch c.Isolation {
	case IsolationAuto, IsolationRequire, IsolationNone:
	default:
		return c, task.Invalid("isolation", "isolation must be auto, require or none, not %q", c.Isolation)
	}
	return c, cmp.Or(c.Network.Check(), c.Limits.Check(maxProcesses))
}

// Folders of a sandbox in its own one.
const (
	dirWS   = "ws"
	dirHome = "home"
	dirOmoi = "omoi"
)

// PathsBelow returns the folders of a sandbox without bubblewrap whose own folder is dir.
func PathsBelow(dir string) sandbox.Paths {
	omoi := filepath.Join(dir, dirOmoi)
	return sandbox.Paths{
		Dir: omoi, Workspace: filepath.Join(dir, dirWS), Home: filepath.Join(dir, dirHome), Agent: omoi + strings.TrimPrefix(sandbox.AgentPath, sandbox.Dir),
	}
}
