// Package agent is the program inside the sandbox: it makes the workspace, runs a coding
// agent of some kind, reports what happens and answers to signals.
package agent

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
)

// Runtime is a kind of coding agent. Run works on the task to its end and reports what it
// does by env.Report, its outcome included: agent.completed, continuous.completed or
// agent.error. An error that it returns has not been reported; it becomes agent.error.
// When ctx ends, Run ends everything that it started and returns ctx's error.
type Runtime interface {
	Run(ctx context.Context, env Env) (Result, error)
}

// Emitter takes events; the ids of task, agent and sandbox are added to their data.
type Emitter interface {
	Emit(eventType string, data map[string]any)
}

// Env is what a runtime works with.
type Env struct {
	Config    agentconfig.Config
	SessionID string // stable over restarts in the same folder
	Done      bool   // its outcome was reported; only messages may be left
	// Resume is what an earlier attempt left; nil: there is nothing to go on from.
	Resume *Resume
	// Keep names the file that grows as the transcript, and the session under which the
	// agent's program would go on: it is sent to the API at intervals and at the end.
	Keep    func(path, sessionID string)
	Environ []string
	Report  Emitter
	Line    *apiclient.Client // to the API
	Inbox   *inbox.Inbox      // hands out what is said to the agent
	Doing   *reporter.Activity
	Procs   *proc.Runner
	// Shadow sees what commands change; nil where there is no git.
	Shadow *gitcmd.Shadow
	Log    *slog.Logger
}

// Branch is that of the task; empty where it has no repository.
func (e Env) Branch() string {
	if e.Config.Repo == nil {
		return ""
	}
	return e.Config.Repo.Branch
}

// AgentType is what the task calls its agent.
func (e Env) AgentType() string { return cmp.Or(e.Config.Env["AGENT_TYPE"], "implementer") }

// Resume is a session of an earlier attempt and its transcript.
type Resume struct {
	SessionID string
	Path      string // of the transcript, lines of JSON; the first ones may have been cut off
	Beside    string // of the files beside it, for transcript.Unpack; may not exist
}

// Result is how a run ended.
type Result struct {
	// Failed is true if the run ended without success; it was reported.
	Failed bool
	// ExitNow ends the program at once, without a word, with ExitCode.
	ExitNow  bool
	ExitCode int
	// Interrupted is true if a message stopped the run before its end.
	Interrupted bool
}

// Defaults of durations in [agentconfig.Config].
const (
	DefaultHeartbeat   = 30 * time.Second
	DefaultToolTimeout = 30 * time.Minute
	DefaultSetup       = 15 * time.Minute
	DefaultGrace       = 10 * time.Second
	DefaultDir         = "/omoi"
	DefaultWorkspace   = "/workspace"
)
