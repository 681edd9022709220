package docker

import (
	"cmp"
	"math"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// DefaultHost is where an engine listens unless it is told otherwise.
const DefaultHost = "unix:///var/run/docker.sock"

// DefaultImage has what the usual projects need: git, a shell, CA certificates, python, node,
// a compiler, and a user 1000.
const DefaultImage = "node:22-bookworm"

// Networks of a container that mean something to this package; others are names of the engine.
const (
	NetworkBridge = "bridge"
	NetworkHost   = "host"
	NetworkNone   = "none"
)

// hostName is the machine of the engine, as a container on a bridge sees it.
const hostName = "host.docker.internal"

// Config of the provider.
type Config struct {
	Host     string // address of the engine; empty: [DefaultHost]
	CertPath string // folder with ca.pem, cert.pem and key.pem for TLS; empty: none
	// StateDir holds the fences. Every worker of this machine that belongs to one installation
	// must use the same one; made if missing.
	StateDir string
	Image    string // empty: [DefaultImage]
	NoPull   bool   // never fetch an image that the engine does not have
	// Network of sandboxes that may use one: bridge (default), host, none, or the name of a
	// network of the engine.
	Network string
	// User that everything inside runs as, as uid:gid in numbers. Empty: 1000:1000. Never root.
	User string
	// WritableRoot leaves the image's own files writable, for images that cannot do without.
	WritableRoot bool
	// Limits of a sandbox that names none. Zero: 4 GiB of memory, 2 CPUs, 8 GB of disk and 512
	// processes.
	Limits sandbox.Limits
	// APISocketDir is a folder of this machine with the socket api.sock, bound to /run/omoi
	// inside. Empty: none. An engine elsewhere, or in a virtual machine, cannot bind it.
	APISocketDir string
}

const (
	gib          = int64(1) << 30
	gigabyte     = int64(1_000_000_000)
	minMemory    = int64(16) << 20
	maxMemory    = 8 * gib
	maxCPUs      = 4.0
	maxDisk      = 10 * gigabyte
	minProcesses = 8
	maxProcesses = 32768
)

func (c Config) withDefaults() (Config, error) {
	if c.StateDir == "" {
		return c, task.Invalid("state_dir", "the docker provider needs a folder for its fences")
	}
	dir, err := filepath.Abs(c.StateDir)
	if err != nil {
		return c, task.Invalid("state_dir", "the folder %q has no absolute path", c.StateDir).WithCause(err)
	}
	c.StateDir = dir
	c.Host, c.Image = cmp.Or(c.Host, DefaultHost), cmp.Or(c.Image, DefaultImage)
	c.Network, c.User = cmp.Or(c.Network, NetworkBridge), cmp.Or(c.User, "1000:1000")
	if !c.shares() {
		c.APISocketDir = ""
	}
	c.Limits = fill(c.Limits, sandbox.Limits{MemoryBytes: 4 * gib, CPUs: 2, DiskBytes: 8 * gigabyte, Processes: 512})
	return c, checkLimits(c.Limits)
}

// shares reports whether a socket of this machine works inside containers.
func (c Config) shares() bool {
	return runtime.GOOS == "linux" && strings.HasPrefix(c.Host, "unix://") && !strings.Contains(c.Host, "/.docker/desktop/")
}

// owner is whose the files inside are.
type owner struct{ uid, gid int }

func parseOwner(user string) (owner, error) {
	left, right, _ := strings.Cut(user, ":")
	uid, err := strconv.Atoi(left)
	if err != nil || uid <= 0 {
		return owner{}, task.Invalid("docker.user", "docker.user is a user and a group in numbers, neither of them root, as 1000:1000; not %q", user)
	}
	gid, err := strconv.Atoi(cmp.Or(right, left))
	if err != nil || gid <= 0 {
		return owner{}, task.Invalid("docker.user", "docker.user is a user and a group in numbers, neither of them root, as 1000:1000; not %q", user)
	}
	return owner{uid: uid, gid: gid}, nil
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
	case l.Processes < minProcesses || l.Processes > maxProcesses:
		return task.Invalid("processes", "processes are between 8 and 32768, not %d", l.Processes)
	}
	return nil
}

var legalID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

func checkLabels(l sandbox.Labels) error {
	switch {
	case !legalID.MatchString(l.SandboxID):
		return task.Invalid("sandbox_id", "%q is no sandbox id: lower-case letters, digits and hyphens only", l.SandboxID)
	case l.Installation == "":
		return task.Invalid("installation", "a sandbox belongs to an installation")
	}
	return nil
}
