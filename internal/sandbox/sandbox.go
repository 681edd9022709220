// Package sandbox says what omoi asks of a place in which an agent runs. Providers
// live in the folders below; the conformance suite in this package holds them to
// the same promises.
package sandbox

import (
	"context"
	"io"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Labels identify a sandbox beyond its name. A sandbox is ours only if all of them agree.
type Labels struct {
	Installation string `json:"installation"`
	TaskID       string `json:"task_id"`
	Attempt      int    `json:"attempt"`
	SandboxID    string `json:"sandbox_id"`
}

// Network says what a sandbox may reach.
type Network string

// The choices of network.
const (
	NetworkHost Network = "host" // the provider's network
	NetworkNone Network = "none" // nothing but the API socket, where the provider has one
)

// Limits of one sandbox. Zero means the provider's default.
type Limits struct {
	MemoryBytes int64   `json:"memory_bytes"`
	CPUs        float64 `json:"cpus"`
	DiskBytes   int64   `json:"disk_bytes"`
	Processes   int     `json:"processes"`
}

// Spec is what [Provider.Ensure] makes.
type Spec struct {
	Labels  Labels
	Limits  Limits
	Network Network
	// Lifetime is the provider's own last net: it deletes the sandbox after it. Zero: none.
	Lifetime time.Duration
}

// Sandbox is what a provider tells about one that exists.
type Sandbox struct {
	Labels     Labels
	ProviderID string // the provider's own id; may equal the name
	Adopted    bool   // it existed already
	Isolation  []string
	FixedSize  bool   // its size is that of what it was made from, whatever limits were asked for
	Arch       string // GOARCH of what runs inside: amd64, arm64
	CreatedAt  time.Time
}

// State is a three-valued answer: a provider that cannot be asked never says gone.
type State string

// The states.
const (
	StateAlive   State = "alive"
	StateGone    State = "gone"
	StateUnknown State = "unknown"
)

// Inspection is what a provider sees of a sandbox now.
type Inspection struct {
	State State
	// Agent is the state of the started command: alive, gone (it ended, or was never started), unknown.
	Agent    State
	Started  bool // a command was started at all
	ExitCode int  // of the ended command; -1 if it was killed or is not known
	Reason   string
	OOM      bool // the memory limit killed something inside
	DiskFull bool // it held more than its disk, and was ended for that
	// ProviderID and CreatedAt are those of [Sandbox], where one that exists tells of them.
	ProviderID string
	CreatedAt  time.Time
}

// Command is a program to run inside. Secrets go into Env or a file, never into Args:
// a provider keeps Env out of command lines and labels.
type Command struct {
	Args  []string
	Env   map[string]string
	Dir   string // inside; empty is the workspace
	Stdin io.Reader
	// Timeout bounds Exec; zero is one minute. Start has none.
	Timeout time.Duration
}

// ExecResult is what became of an [Exec].
type ExecResult struct {
	ExitCode int
	Stdout   []byte // at most [MaxExecOutput] bytes
	Stderr   []byte // likewise
}

// MaxExecOutput bounds each output stream of Exec.
const MaxExecOutput = 1 << 20

// Paths inside every sandbox. Dir holds the agent's configuration, spool and outgoing
// files; Workspace is the repository.
const (
	Dir       = "/omoi"
	Workspace = "/workspace"
	AgentPath = "/omoi/bin/omoi-agent"
)

// Home is the home folder of what runs inside; it starts empty.
const Home = "/home/agent"

// MemoryKills is where a program inside finds the count of kills at the memory limit, as a line
// "oom_kill 0" among others, where it cannot read that of its own control group.
const MemoryKills = "/run/omoi-memory"

// Environment that every provider sets for Start and Exec, so that a program finds its
// folders also where the fixed paths do not exist.
const (
	EnvDir       = "OMOI_DIR"       // [Paths.Dir]
	EnvWorkspace = "OMOI_WORKSPACE" // [Paths.Workspace]
)

// Paths are the places of a sandbox as a program inside sees them. They are the constants
// [Dir], [Workspace], [Home] and [AgentPath] wherever the provider may make those folders. The
// local provider without isolation answers folders of the host, Daytona's what is below the home
// of its user.
//
// WriteFile, ReadFile, Command.Dir and whole elements of Command.Args may always be
// written with the constants: the provider translates a value that is one of them or lies
// below one of them. What it cannot translate is text: whoever writes a configuration file
// for the inside (agent.json: Dir, Workspace, Repo.Bundle) must take the places from here.
type Paths struct {
	Dir       string // configuration, spool and outgoing files of the agent
	Workspace string // the repository
	Home      string
	Agent     string // the omoi-agent binary, below Dir
}

// DefaultPaths are the constants, for providers that have a file system of their own.
func DefaultPaths() Paths {
	return Paths{Dir: Dir, Workspace: Workspace, Home: Home, Agent: AgentPath}
}

// Capabilities are what differs between providers.
type Capabilities = task.Capabilities

// Errors that providers return, by code: [task.CodeConflict] with [ErrNameTaken] for a foreign
// sandbox of our name, [task.CodeGone] with [ErrFenced] for a create after a delete,
// [task.CodeNotFound] for one that is not there, [task.CodeUnavailable] when it cannot be asked,
// with [ErrFrozen] for a start after [Freezer.Freeze].
var (
	ErrNameTaken = task.Errorf(task.CodeConflict, "a sandbox of this name exists with other labels (name_taken)")
	ErrFenced    = task.Errorf(task.CodeGone, "the sandbox was deleted before it was created")
	ErrFrozen    = task.Errorf(task.CodeUnavailable, "omoi is stopping: no agent starts")
)

// Readier is a provider that can make nothing before somebody has configured it.
type Readier interface {
	// Ready says what is missing; nil if nothing is. It asks nobody.
	Ready() error
}

// Provider makes, watches and removes sandboxes. Every method is idempotent and safe to
// repeat after a lost answer. A sandbox is named by its labels: delete and adopt act only
// where name and all labels agree.
//
//nolint:interfacebloat // the one exception: a provider is one thing, and the conformance suite holds all of it
type Provider interface {
	// Name is that of the provider's row in [task.Providers].
	Name() string
	// Capabilities are those of that row, completed by the configuration.
	Capabilities() Capabilities
	// Paths answers where the folders of a sandbox are for a program inside. It asks nobody,
	// and its answer for one sandbox never changes.
	Paths(labels Labels) Paths
	// Ensure makes the sandbox or adopts the one that carries all its labels.
	Ensure(ctx context.Context, spec Spec) (Sandbox, error)
	Inspect(ctx context.Context, labels Labels) (Inspection, error)
	// Start runs the agent: once for the life of the sandbox, however often it is asked.
	Start(ctx context.Context, labels Labels, cmd Command) error
	// Stop ends the started command and its whole tree: SIGTERM, after grace SIGKILL. Files stay.
	Stop(ctx context.Context, labels Labels, grace time.Duration) error
	// Attach runs a command beside the agent, or after its end, until it ends, its time is over or
	// ctx ends; nothing of it is left then. cmd.Stdin is not used. It returns the exit code. See [Exec].
	Attach(ctx context.Context, labels Labels, cmd Command, streams Streams) (exitCode int, err error)
	// WriteFile replaces a file and gives it to the sandbox's user; folders above it are made. Of mode only the
	// permission bits count.
	WriteFile(ctx context.Context, labels Labels, path string, mode uint32, r io.Reader) error
	// ReadFile opens a regular file inside, never a device, a pipe or what a link shows outside of its tree; the caller
	// closes it and bounds what it reads. [task.CodeNotFound]: there is none; [task.CodeInvalid]: it is no file.
	ReadFile(ctx context.Context, labels Labels, path string) (io.ReadCloser, error)
	// Log opens the output of the started command from a byte offset to its present end. Before the start, and past the
	// end, it is empty.
	Log(ctx context.Context, labels Labels, offset int64) (io.ReadCloser, error)
	// Delete removes it and fences a create that is still under way, where the provider can.
	Delete(ctx context.Context, labels Labels) error
	// List returns what carries the installation's label.
	List(ctx context.Context, installation string) ([]Sandbox, error)
	// Survey returns those of every installation, so that the sandboxes of a lost one can be swept.
	Survey(ctx context.Context) ([]Sandbox, error)
}
