package docker

import (
	"cmp"
	"path/filepath"
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
	// Limits of a sandbox that names none. Zero: 4 GiB of memory, 2 CPUs, 8 GB of disk and 512
	// processes.
	Limits sandbox.Limits
	// APISocketDir is a folder of this machine with the socket api.sock, bound to /run/omoi
	// inside. Empty: none. An engine elsewhere, or in a virtual machine, cannot bind it.
	APISocketDir string
}

// maxProcesses is the most that a container may be given.
const maxProcesses = 32768

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
	c.Limits = c.Limits.Or(sandbox.Limits{Processes: 512}).Or(sandbox.DefaultLimits())
	return c, c.Limits.Check(maxProcesses)
}

// shares reports whether a socket of this machine works inside containers.
func (c Config) shares() bool {
	return runtime.GOOS == "linux" && strings.HasPrefix(c.Host, "unix://") && !strings.Contains(c.Host, "/.docker/desktop/")
}

// owner is whose the files inside are.
type owner struct{ uid, gid int }

func parseOwner(user string) (owner, error) {
	left, right, _ := strings.Cut(user, ":")
	uid, uidErr := strconv.Atoi(left)
	gid, gidErr := strconv.Atoi(cmp.Or(right, left))
	if uidErr != nil || gidErr != nil || uid <= 0 || gid <= 0 {
		return owner{}, task.Invalid("docker.user", "docker.user is a user and a group in numbers, neither of them root, as 1000:1000; not %q", user)
	}
	return owner{uid: uid, gid: gid}, nil
}
