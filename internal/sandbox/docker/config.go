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

// DefaultHost is the default address of the engine.
const DefaultHost = "unix:///var/run/docker.sock"

// DefaultImage has what common projects need: git, a shell, CA certificates, Python, Node.js, a compiler, and a user
// 1000.
const DefaultImage = "node:22-bookworm"

// Special networks; any other name is a network of the engine.
const (
	NetworkBridge = "bridge"
	NetworkHost   = "host"
	NetworkNone   = "none"
)

// hostName is the engine's host for a container on a bridge network.
const hostName = "host.docker.internal"

// Config configures the provider.
type Config struct {
	Host     string // address of the engine; empty: [DefaultHost]
	CertPath string // folder with ca.pem, cert.pem and key.pem for TLS; empty: none
	// StateDir holds the fences. All workers of an installation on this machine must use the same folder. New creates
	// it.
	StateDir string
	Image    string // empty: [DefaultImage]
	NoPull   bool   // never pull an image that the engine does not have
	// Network is the network of sandboxes with [sandbox.NetworkHost]: bridge (default), host, none, or the name of a
	// network of the engine.
	Network string
	// User runs all processes of a sandbox, as numeric uid:gid. Empty: 1000:1000. Root is invalid.
	User string
	// Limits are the default limits of a sandbox. Zero: 4 GiB of memory, 2 CPUs, 8 GB of disk and 512 processes.
	Limits sandbox.Limits
	// APISocketDir is a folder of this machine with the socket api.sock, mounted at /run/omoi in sandboxes. Empty:
	// none. Ignored if the engine runs on another machine or in a virtual machine, where the mount does not work.
	APISocketDir string
}

// maxProcesses is the largest process limit of a container.
const maxProcesses = 32768

func (c Config) withDefaults() (Config, error) {
	if c.StateDir == "" {
		return c, task.Invalid("state_dir", "the docker provider needs a state folder")
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

// owner is the user and group of the files in a sandbox.
type owner struct{ uid, gid int }

func parseOwner(user string) (owner, error) {
	left, right, _ := strings.Cut(user, ":")
	uid, uidErr := strconv.Atoi(left)
	gid, gidErr := strconv.Atoi(cmp.Or(right, left))
	if uidErr != nil || gidErr != nil || uid <= 0 || gid <= 0 {
		return owner{}, task.Invalid("docker.user", "docker.user must be a numeric user and group other than root, for example 1000:1000, not %q", user)
	}
	return owner{uid: uid, gid: gid}, nil
}
