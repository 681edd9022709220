// Package agentconfig is the contract between omoi and omoi-agent in the sandbox: the configuration file of omoi-agent,
// and the output of its commands. The file contains a token; its mode is 0600.
package agentconfig

import (
	"strings"
	"time"
)

// Protocol is the protocol version of agent and server. A server also accepts the previous version.
const Protocol = 1

// Paths inside the sandbox.
const (
	ConfigPath = "/omoi/agent.json"   // [Config], mode 0600
	InBundle   = "/omoi/in.bundle"    // the repository, as a git bundle
	OutBundle  = "/omoi/out.bundle"   // the work, as a git bundle made by `omoi-agent collect`
	OutPatch   = "/omoi/out.patch"    // uncommitted changes, binary-safe, made by `omoi-agent collect`
	SocketPath = "/run/omoi/api.sock" // the API, where the network is off
)

// CutRefs is where a bundle names the commits whose parents it leaves out, since its history is cut there.
const CutRefs = "refs/omoi/cut/"

// Config configures omoi-agent. Durations are nanoseconds.
type Config struct {
	Protocol  int    `json:"protocol"`
	SandboxID string `json:"sandbox_id"`
	TaskID    string `json:"task_id"`
	Attempt   int    `json:"attempt"`
	// APIURL is the base URL of the API, for example http://127.0.0.1:18000, unix:///run/omoi/api.sock or
	// file:///omoi/post: see package mailbox.
	APIURL string `json:"api_url"`
	Token  string `json:"token"`

	Runtime     string `json:"runtime"` // as in [task.Runtimes]
	Workspace   string `json:"workspace"`
	Dir         string `json:"dir"` // where spool and outgoing files live; default /omoi
	Title       string `json:"title"`
	Description string `json:"description"`
	Mode        string `json:"mode"`
	Continuous  bool   `json:"continuous"`
	Feedback    string `json:"feedback,omitempty"` // of the attempt before

	// Validation is set if the agent validates the work on the branch; nil: the agent does the work.
	Validation *Validation `json:"validation,omitempty"`

	// Resume names the transcript that this attempt continues; nil: a new session.
	Resume *Resume `json:"resume,omitempty"`

	Repo *Repo `json:"repo,omitempty"`
	// Script is the JSON document of the scripted runtime.
	Script []byte `json:"script,omitempty"`
	// Command of the command runtime.
	Command []string `json:"command,omitempty"`
	// Program is the path of the runtime's program, if the sandbox runs on the worker's host. A missing one is searched
	// for.
	Program string `json:"program,omitempty"`
	// Setup runs in a shell before the agent; empty: none.
	Setup string `json:"setup,omitempty"`
	// SetupTimeout ends it; default 15 min, at most ToolTimeout.
	SetupTimeout time.Duration `json:"setup_timeout,omitempty"`
	// TestCommand validates the work in continuous mode, in a shell; empty: none.
	TestCommand string `json:"test_command,omitempty"`
	// Env is added to the clean environment of the agent's program. Legacy workers rely on it.
	Env map[string]string `json:"env,omitempty"`

	// ReadsMessages says that the program of the command runtime reads messages from its standard input.
	ReadsMessages bool `json:"reads_messages,omitempty"`

	WaitForMessages bool          `json:"wait_for_messages,omitempty"`
	Idle            time.Duration `json:"idle,omitempty"` // after which omoi takes an agent that waits for idle; default 10 min
	Heartbeat       time.Duration `json:"heartbeat"`      // default 30 s
	ToolTimeout     time.Duration `json:"tool_timeout"`   // default 30 min
	SpoolBytes      int64         `json:"spool_bytes"`    // default 256 MiB
	Grace           time.Duration `json:"grace"`          // after SIGTERM; default 10 s
	Transcript      time.Duration `json:"transcript"`     // between two uploads of what is new; default 1 min
}

// Resume is the newest transcript of an earlier attempt of the same task.
type Resume struct {
	RunID     string `json:"run_id"`     // under which the API has it
	SessionID string `json:"session_id"` // session that the agent's program resumes
	Attempt   int    `json:"attempt"`
}

// Repo describes the checkout in the workspace. The bundle at InBundle holds Branch. The agent makes a bare `origin`
// from it beside the workspace, so that commit and push work without a credential.
type Repo struct {
	Branch      string `json:"branch"`
	Base        string `json:"base"`   // commit from which the task's branch began
	Bundle      string `json:"bundle"` // path inside; default InBundle
	AuthorName  string `json:"author_name"`
	AuthorEmail string `json:"author_email"`
}

// Collected is the JSON object that `omoi-agent collect` prints.
type Collected struct {
	Repo    bool   `json:"repo"`    // there is a git repository in the workspace
	Head    string `json:"head"`    // commit of the task's branch
	Commits int    `json:"commits"` // Base..Head
	// Bundle is the path of a bundle that holds refs/heads/<branch> and, where there are
	// uncommitted changes, refs/omoi/rescue. Empty if there is nothing new.
	Bundle string `json:"bundle"`
	Rescue string `json:"rescue"` // commit that holds the uncommitted changes; empty if clean
	Files  int    `json:"files"`  // uncommitted files, ignored ones not counted
	Bytes  int64  `json:"bytes"`
	// Patch is the path of the uncommitted changes as a patch, where a commit could not be made.
	Patch string `json:"patch"`
	// Unsent is the number of events in the spool that the API has not acknowledged.
	Unsent int64 `json:"unsent,omitempty"`
	// Notes say what was left out or failed, one sentence each.
	Notes []string `json:"notes,omitempty"`
}

// Validation is set if the agent validates the work of another agent.
type Validation struct {
	Round  int `json:"round"`  // from 1
	Rounds int `json:"rounds"` // at most
}

// ValidatorPrompt returns the prompt of a validator; missing is the feedback of an earlier round.
func ValidatorPrompt(title, description, missing string) string {
	text := strings.TrimSpace(description)
	if title != "" && !strings.HasPrefix(text, title) {
		text = strings.TrimSpace(title + "\n\n" + text)
	}
	parts := []string{
		"Another agent was given the task below. Its work is what stands on the branch that is checked out here. Find out whether the work does what was asked: read what was changed, run it, and run its tests. Then give your verdict.",
		"The task was:\n\n" + text,
	}
	if missing != "" {
		parts = append(parts, "An earlier round of validation found this missing; look whether it is there now:\n\n"+missing)
	}
	return strings.Join(parts, "\n\n")
}
