// Package agent runs a coding agent in a sandbox: it prepares the workspace, runs an agent runtime, reports events and
// handles messages.
package agent

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/leftovers"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/track"
)

// Runtime is an agent runtime. Run works on the task to its end, and reports its actions and its outcome to env.Report:
// agent.completed, continuous.completed or agent.error. The caller reports a returned error as agent.error. When ctx
// ends, Run ends all that it started and returns the error of ctx.
type Runtime interface {
	Run(ctx context.Context, env Env) (Result, error)
}

// Emitter takes events. Emitter adds the IDs of task, agent and sandbox to their data.
type Emitter interface {
	Emit(eventType string, data map[string]any)
}

// Env is the environment of a runtime.
type Env struct {
	Config    agentconfig.Config
	SessionID string // stays the same after a restart in the same folder
	Done      bool   // the outcome was reported; only messages remain
	// Resume is the session of an earlier attempt; nil: start a new session.
	Resume *Resume
	// Keep sets the transcript file, and the session ID with which the agent's program resumes. omoi-agent sends the
	// file to the API at intervals and at the end.
	Keep    func(path, sessionID string)
	Environ []string
	Report  Emitter
	Line    *apiclient.Client // client of the API
	Inbox   *inbox.Inbox      // messages to the agent
	Doing   *reporter.Activity
	Procs   *proc.Runner
	// Files follows file changes; nil without git.
	Files *track.Tracker
	// Leftovers commits what the agent leaves uncommitted; nil: omoi commits nothing.
	Leftovers *leftovers.Keeper
	Log       *slog.Logger
	// Hook is the shell command that checks a tool call before it runs; empty: calls are not checked.
	Hook string
	// Restored is a notice for the agent about the restored checkpoint, or about a session that is not of the moment of the files; empty:
	// there is nothing to say.
	Restored string
}

// Branch returns the branch of the task; empty without a repository.
func (e Env) Branch() string {
	if e.Config.Repo == nil {
		return ""
	}
	return e.Config.Repo.Branch
}

// AgentType returns the agent type of the task.
func (e Env) AgentType() string { return cmp.Or(e.Config.Env["AGENT_TYPE"], "implementer") }

// Resume is a session of an earlier attempt with its transcript.
type Resume struct {
	SessionID string
	Path      string // transcript file, JSON lines; its beginning may be cut off
	Beside    string // archive of files that belong to the transcript, for [transcript.Unpack]; may not exist
}

// Result is the end of a run.
type Result struct {
	// Failed is true if the run failed and reported that.
	Failed bool
	// ExitNow ends the program immediately with ExitCode, without a further event.
	ExitNow  bool
	ExitCode int
	// Interrupted is true if a message stopped the run.
	Interrupted bool
}

// Defaults of [agentconfig.Config].
const (
	DefaultHeartbeat   = 30 * time.Second
	DefaultToolTimeout = 30 * time.Minute
	DefaultSetup       = 15 * time.Minute
	DefaultGrace       = 10 * time.Second
	DefaultDir         = "/omoi"
	DefaultWorkspace   = "/workspace"
)
