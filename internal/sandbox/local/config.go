package local

import (
	"cmp"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Isolation says what to do where bubblewrap cannot run.
type Isolation string

// The choices of isolation.
const (
	IsolationAuto    Isolation = "auto"    // bubblewrap if it works, else process groups and a warning
	IsolationRequire Isolation = "require" // New fails where bubblewrap does not work
	IsolationNone    Isolation = "none"    // process groups, even where bubblewrap works
)

// Config of the provider.
type Config struct {
	// Root is the folder that holds the sandboxes; made if missing. As root, every folder
	// above it must be open to other users (o+x), since sandboxes run under their own.
	Root string
	// Shim is the argv prefix of a program that calls [ShimMain] with what follows. Empty:
	// this very program with the argument "shim".
	Shim []string
	// Network of a sandbox that asks for none in particular; empty: [sandbox.NetworkHost].
	Network sandbox.Network
	// Limits of a sandbox that names none. Zero: 4 GiB of memory, 2 CPUs, 8 GB of disk and
	// 1024 processes. Disk is watched, not enforced: what holds more is ended.
	Limits sandbox.Limits
	// APISocketDir is a folder of the host with the socket api.sock, bound to /run/omoi
	// inside. Empty: none, so that a sandbox without network reaches nothing at all.
	APISocketDir string
	// Isolation is [IsolationAuto] if empty.
	Isolation Isolation
	// Programs are files of this machine that sandboxes see, read-only, at their own paths. One
	// that users of sandboxes cannot reach is left out.
	Programs []string
}

// standardPath is where what runs inside looks for programs, after our own folder.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxProcesses is the most that a sandbox may be given.
const maxProcesses = 4096

func (c Config) withDefaults() (Config, error) {
	if c.Root == "" {
		return c, task.Invalid("root", "the local provider needs a folder for its sandboxes")
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
		return c, task.Invalid("isolation", "isolation is auto, require or none, not %q", c.Isolation)
	}
	return c, cmp.Or(c.Network.Check(), c.Limits.Check(maxProcesses))
}
