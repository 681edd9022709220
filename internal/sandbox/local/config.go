package local

import (
	"math"
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
	// UIDBase is the first of UIDCount user ids that sandboxes get when omoi runs as root.
	// Zero: 70000 where this machine maps it, since systemd gives 61184 to 65519 away, else 64000.
	UIDBase int
	// UIDDir holds the claims on user ids. Every installation of a machine must use the same
	// one. Empty: /var/lib/omoi/uids. Not used unless root.
	UIDDir string
	// Isolation is [IsolationAuto] if empty.
	Isolation Isolation
}

// UIDCount is how many user ids, and so sandboxes of a root installation, one machine has.
const UIDCount = 1500

const (
	gib          = int64(1) << 30
	gigabyte     = int64(1_000_000_000)
	maxMemory    = 8 * gib
	maxCPUs      = 4.0
	maxDisk      = 10 * gigabyte
	maxProcesses = 4096
	minMemory    = int64(16) << 20
)

func (c Config) withDefaults() (Config, error) {
	if c.Root == "" {
		return c, task.Invalid("root", "the local provider needs a folder for its sandboxes")
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return c, task.Invalid("root", "the folder %q has no absolute path", c.Root).WithCause(err)
	}
	c.Root = root
	if c.Network == "" {
		c.Network = sandbox.NetworkHost
	}
	if c.Isolation == "" {
		c.Isolation = IsolationAuto
	}
	if c.UIDDir == "" {
		c.UIDDir = "/var/lib/omoi/uids"
	}
	c.Limits = fill(c.Limits, sandbox.Limits{MemoryBytes: 4 * gib, CPUs: 2, DiskBytes: 8 * gigabyte, Processes: 1024})
	return c, c.check()
}

func (c Config) check() error {
	switch c.Isolation {
	case IsolationAuto, IsolationRequire, IsolationNone:
	default:
		return task.Invalid("isolation", "isolation is auto, require or none, not %q", c.Isolation)
	}
	if err := checkNetwork(c.Network); err != nil {
		return err
	}
	return checkLimits(c.Limits)
}

func checkNetwork(n sandbox.Network) error {
	if n != sandbox.NetworkHost && n != sandbox.NetworkNone {
		return task.Invalid("network", "network is host or none, not %q", n)
	}
	return nil
}

// fill takes from rest what l leaves at zero.
func fill(l, rest sandbox.Limits) sandbox.Limits {
	if l.MemoryBytes == 0 {
		l.MemoryBytes = rest.MemoryBytes
	}
	if l.CPUs == 0 {
		l.CPUs = rest.CPUs
	}
	if l.DiskBytes == 0 {
		l.DiskBytes = rest.DiskBytes
	}
	if l.Processes == 0 {
		l.Processes = rest.Processes
	}
	return l
}

// checkLimits refuses what is out of range; nothing is cut silently.
func checkLimits(l sandbox.Limits) error {
	switch {
	case l.MemoryBytes < minMemory || l.MemoryBytes > maxMemory:
		return task.Invalid("memory_bytes", "memory is between 16 MiB and 8 GiB, not %d bytes", l.MemoryBytes)
	case math.IsNaN(l.CPUs) || l.CPUs < 0.1 || l.CPUs > maxCPUs:
		return task.Invalid("cpus", "CPUs are between 0.1 and 4, not %g", l.CPUs)
	case l.DiskBytes < 0 || l.DiskBytes > maxDisk:
		return task.Invalid("disk_bytes", "disk is at most 10 GB, not %d bytes", l.DiskBytes)
	case l.Processes < 8 || l.Processes > maxProcesses:
		return task.Invalid("processes", "processes are between 8 and 4096, not %d", l.Processes)
	}
	return nil
}
