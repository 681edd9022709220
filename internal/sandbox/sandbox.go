// Package sandbox defines the interface of sandbox providers. The folders below implement it, and the conformance suite
// of this package tests each of them.
package sandbox

import (
	"context"
	"io"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Labels identify a sandbox beyond its name. A sandbox belongs to a task only if all of them agree.
type Labels struct {
	Installation string `json:"installation"`
	TaskID       string `json:"task_id"`
	Attempt      int    `json:"attempt"`
	SandboxID    string `json:"sandbox_id"`
}

// Network says what a sandbox can reach.
type Network string

// The networks.
const (
	NetworkHost Network = "host" // the provider's network
	NetworkNone Network = "none" // only the API socket, if the provider has one
)

// Limits of one sandbox. Zero means the provider's default.
type Limits struct {
	MemoryBytes int64   `json:"memory_bytes"`
	CPUs        float64 `json:"cpus"`
	DiskBytes   int64   `json:"disk_bytes"`
	Processes   int     `json:"processes"`
}

// Spec is the input of [Provider.Ensure].
type Spec struct {
	Labels  Labels
	Limits  Limits
	Network Network
	// Lifetime is the time after which the provider deletes the sandbox by itself. Zero: never.
	Lifetime time.Duration
}

// Sandbox is an existing sandbox as its provider reports it.
type Sandbox struct {
	Labels     Labels
	ProviderID string // the provider's ID; may equal the name
	Adopted    bool   // it already existed
	Isolation  []string
	FixedSize  bool   // its size is that of its image or snapshot, whatever the requested limits
	Arch       string // architecture as GOARCH: amd64, arm64
	CreatedAt  time.Time
}

// State has three values: a provider that cannot be reached never reports gone.
type State string

// The states.
const (
	StateAlive   State = "alive"
	StateGone    State = "gone"
	StateUnknown State = "unknown"
)

// Inspection is the current state of a sandbox by its provider.
type Inspection struct {
	State State
	// Agent is the state of the started command: alive, gone (ended or never started), or unknown.
	Agent    State
	Started  bool // a command was started
	ExitCode int  // of the ended command; -1 if it was killed or the code is unknown
	Reason   string
	OOM      bool // the memory limit killed a program in the sandbox
	DiskFull bool // the sandbox exceeded its disk limit and was stopped
	// ProviderID and CreatedAt are as in [Sandbox], if the provider reports them.
	ProviderID string
	CreatedAt  time.Time
}

// Command is a program to run in a sandbox. Secrets go into Env or a file, never into Args: a provider keeps Env out of
// command lines and labels.
type Command struct {
	Args  []string
	Env   map[string]string
	Dir   string // directory in the sandbox; empty: the workspace
	Stdin io.Reader
	// Timeout limits Exec; zero: one minute. Start has no timeout.
	Timeout time.Duration
}

// ExecResult is the result of [Exec].
type ExecResult struct {
	ExitCode int
	Stdout   []byte // at most [MaxExecOutput] bytes
	Stderr   []byte // at most [MaxExecOutput] bytes
}

// MaxExecOutput is the maximum size of each output of Exec.
const MaxExecOutput = 1 << 20

// Paths in every sandbox. Dir holds the agent's configuration, spool and outgoing files; Workspace is the repository.
const (
	Dir       = "/omoi"
	Workspace = "/workspace"
	AgentPath = "/omoi/bin/omoi-agent"
)

// Home is the home directory in a sandbox. It is empty at the start.
const Home = "/home/agent"

// MemoryKills is the file with the number of kills by the memory limit, as a line "oom_kill 0" among others. Programs
// use it if they cannot read their own cgroup.
const MemoryKills = "/run/omoi-memory"

// Environment variables that every provider sets for Start and Exec, so that a program finds its folders if the fixed
// paths do not exist.
const (
	EnvDir       = "OMOI_DIR"       // [Paths.Dir]
	EnvWorkspace = "OMOI_WORKSPACE" // [Paths.Workspace]
)

// Paths are the folders of a sandbox as its programs see them: the constants [Dir], [Workspace], [Home] and [AgentPath] if the
// provider can create those folders. The local provider without isolation returns folders of the host, and Daytona folders
// below the home of its user.
//
// WriteFile, ReadFile, Command.Dir and whole elements of Command.Args accept the constants: the provider translates a value
// that is a constant, or lies below one. It cannot translate the content of files, so a configuration for programs in the
// sandbox (agent.json: Dir, Workspace, Repo.Bundle) must use Paths.
type Paths struct {
	Dir       string // configuration, spool and outgoing files of the agent
	Workspace string // the repository
	Home      string
	Agent     string // the omoi-agent binary, below Dir
}

// DefaultPaths returns the constants, for providers whose sandboxes have their own file system.
func DefaultPaths() Paths {
	return Paths{Dir: Dir, Workspace: Workspace, Home: Home, Agent: AgentPath}
}

// Capabilities are the differences between providers.
type Capabilities = task.Capabilities

// Errors of providers, by code: [task.CodeConflict] with [ErrNameTaken] for a foreign sandbox with the name, [task.CodeGone] with
// [ErrFenced] for a create after a delete, [task.CodeNotFound] for a sandbox that does not exist, [task.CodeUnavailable] for a
// provider that cannot be reached, with [ErrFrozen] for a start after [Freezer.Freeze].
var (
	ErrNameTaken = task.Errorf(task.CodeConflict, "a sandbox of this name exists with other labels (name_taken)")
	ErrFenced    = task.Errorf(task.CodeGone, "the sandbox was deleted before it was created")
	ErrFrozen    = task.Errorf(task.CodeUnavailable, "omoi is stopping: no agent starts")
)

// Readier is a provider that needs configuration before it can create sandboxes.
type Readier interface {
	// Ready returns the missing configuration as an error; nil if none. It makes no request.
	Ready() error
}

// Placed is a provider whose configuration may come to name another place, where its sandboxes would seem to be gone.
type Placed interface {
	// Place returns the provider ID of a sandbox that is still to be created in the place that is configured now: it names that place only.
	Place(ctx context.Context) (providerID string, err error)
	// Reaches returns an error if the place that is configured now is not that of the sandbox with a provider ID.
	Reaches(ctx context.Context, providerID string) error
}

// Provider creates, watches and deletes sandboxes. Every method is idempotent and may be repeated after a lost answer.
// Labels identify a sandbox: Delete and Ensure act only if the name and all labels agree.
//
//nolint:interfacebloat // the one exception: a provider is one thing, and the conformance suite holds all of it
type Provider interface {
	// Name is the name of the provider's row in [task.Providers].
	Name() string
	// Capabilities returns those of that row, completed by the configuration.
	Capabilities() Capabilities
	// Paths returns the folders of a sandbox as its programs see them. It makes no request, and its result for a
	// sandbox never changes.
	Paths(labels Labels) Paths
	// Ensure creates the sandbox, or adopts the one with all its labels.
	Ensure(ctx context.Context, spec Spec) (Sandbox, error)
	Inspect(ctx context.Context, labels Labels) (Inspection, error)
	// Start starts the agent, once in the life of the sandbox.
	Start(ctx context.Context, labels Labels, cmd Command) error
	// Stop ends the started command and its process tree with SIGTERM, and after grace with SIGKILL. Files stay.
	Stop(ctx context.Context, labels Labels, grace time.Duration) error
	// Attach runs a command beside the agent, or after its end, until the command ends, its timeout passes or ctx ends.
	// No process of it remains. cmd.Stdin is not used. Attach returns the exit code. See [Exec].
	Attach(ctx context.Context, labels Labels, cmd Command, streams Streams) (exitCode int, err error)
	// WriteFile replaces a file, owned by the sandbox's user, and creates missing folders. Only the permission bits of
	// mode count.
	WriteFile(ctx context.Context, labels Labels, path string, mode uint32, r io.Reader) error
	// ReadFile opens a regular file in the sandbox, but no device, pipe, or target of a link outside of its tree. The
	// caller closes the file and limits what it reads. [task.CodeNotFound]: no such file. [task.CodeInvalid]: not a
	// regular file.
	ReadFile(ctx context.Context, labels Labels, path string) (io.ReadCloser, error)
	// Log opens the output of the started command from a byte offset to its current end. Before the start, and beyond
	// the end, it is empty.
	Log(ctx context.Context, labels Labels, offset int64) (io.ReadCloser, error)
	// Delete deletes the sandbox, and fences a create call in progress if the provider can.
	Delete(ctx context.Context, labels Labels) error
	// List returns the sandboxes with the installation's label.
	List(ctx context.Context, installation string) ([]Sandbox, error)
	// Survey returns the sandboxes of all installations, so that those of a lost one can be found.
	Survey(ctx context.Context) ([]Sandbox, error)
}
