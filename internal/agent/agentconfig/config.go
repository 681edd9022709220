// Package agentconfig is the contract between omoi and omoi-agent: the configuration file, and the output of
// omoi-agent's commands. The file contains a token; its mode is 0600.
package agentconfig

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

// Protocol is the protocol version of agent and server. A server also accepts the previous version.
const Protocol = 1

// Paths in a sandbox.
const (
	ConfigPath = "/omoi/agent.json"   // [Config], mode 0600
	InBundle   = "/omoi/in.bundle"    // the repository, as a git bundle
	OutBundle  = "/omoi/out.bundle"   // the work, as a git bundle made by `omoi-agent collect`
	OutPatch   = "/omoi/out.patch"    // uncommitted changes, binary-safe, made by `omoi-agent collect`
	SocketPath = "/run/omoi/api.sock" // the API in a sandbox without network
	// AfterCall is the path of a file that makes omoi-agent, asked to stop, let a tool call end that takes a few seconds at most.
	AfterCall = "/omoi/after-call"
)

// CutRefs is the ref prefix of commits whose parents a bundle omits, because its history is cut there.
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
	Dir         string `json:"dir"` // folder of the spool and of outgoing files; default /omoi
	Title       string `json:"title"`
	Description string `json:"description"`
	Mode        string `json:"mode"`
	Continuous  bool   `json:"continuous"`
	Feedback    string `json:"feedback,omitempty"` // feedback on the previous attempt

	// Answers are the answers to questions of earlier attempts, oldest first.
	Answers []task.Answered `json:"answers,omitempty"`

	// Validation is set if the agent validates the work on the branch; nil: the agent does the work.
	Validation *Validation `json:"validation,omitempty"`

	// Resume names the transcript that this attempt continues; nil: a new session.
	Resume *Resume `json:"resume,omitempty"`
	// Restore names the checkpoints whose files this attempt begins with; nil: the files of the branch.
	Restore *Restore `json:"restore,omitempty"`

	Repo *Repo `json:"repo,omitempty"`
	// Script is the JSON document of the scripted runtime.
	Script []byte `json:"script,omitempty"`
	// Command is the command line of the command runtime.
	Command []string `json:"command,omitempty"`
	// Program is the path of the runtime's program, if the sandbox runs on the worker's host. Empty: the runtime
	// searches for its program.
	Program string `json:"program,omitempty"`
	// Setup runs in a shell before the agent; empty: none.
	Setup string `json:"setup,omitempty"`
	// SetupTimeout is the timeout of Setup; default 15 min, at most ToolTimeout.
	SetupTimeout time.Duration `json:"setup_timeout,omitempty"`
	// TestCommand validates the work in continuous mode, in a shell; empty: none.
	TestCommand string `json:"test_command,omitempty"`
	// TestsOf is the commit whose tests `omoi-agent tests` compares with those of Repo.Base.
	TestsOf string `json:"tests_of,omitempty"`
	// Contract is the task contract in sentences, for the agent's prompt; empty: nothing is known.
	Contract string `json:"contract,omitempty"`
	// Accepted is the part of the task contract that users accepted, a JSON object, by which the hook refuses tool calls. Empty:
	// nothing is known.
	Accepted json.RawMessage `json:"accepted_contract,omitempty"`
	// Takeover says which credential in Env took the place of a rate limited one; nil: none.
	Takeover *task.Takeover `json:"credential_takeover,omitempty"`
	// Env overrides the environment of the agent's program. Legacy workers rely on it.
	Env map[string]string `json:"env,omitempty"`

	// ReadsMessages reports that the program of the command runtime reads messages from its standard input.
	ReadsMessages bool `json:"reads_messages,omitempty"`

	WaitForMessages bool `json:"wait_for_messages,omitempty"`
	// Idle is the time after which omoi takes a waiting agent for idle; default 10 min.
	Idle        time.Duration `json:"idle,omitempty"`
	Heartbeat   time.Duration `json:"heartbeat"`    // default 30 s
	ToolTimeout time.Duration `json:"tool_timeout"` // default 30 min
	SpoolBytes  int64         `json:"spool_bytes"`  // default 256 MiB
	Grace       time.Duration `json:"grace"`        // time between SIGTERM and the end; default 10 s
	Transcript  time.Duration `json:"transcript"`   // interval of transcript uploads; default 1 min

	// CommitLeftovers has omoi commit what a successful agent leaves uncommitted.
	CommitLeftovers bool `json:"commit_leftovers,omitempty"`
	// Checkpoint is the interval of checkpoints; 0: no checkpoints.
	Checkpoint time.Duration `json:"checkpoint,omitempty"`
}

// Resume identifies the newest transcript of an earlier attempt of the task.
type Resume struct {
	RunID     string `json:"run_id"`     // key of the transcript in the API
	SessionID string `json:"session_id"` // session that the agent's program resumes
	Attempt   int    `json:"attempt"`
}

// Restore names checkpoints of earlier attempts.
type Restore struct {
	// Segments are checkpoints in order, each segment from its keyframe on. The newest segment is the first, and its last
	// checkpoint is restored if it can be.
	Segments [][]checkpoint.Checkpoint `json:"segments"`
	// Session is the session of these checkpoints, which replaces Config.Resume if one is restored; nil: Config.Resume stays.
	Session *Resume `json:"session,omitempty"`
	// Branches are the former names of the task's branch, which it may have in the checkpoints.
	Branches []string `json:"branches,omitempty"`
	// Fork is the origin of the checkpoints of a fork's first attempt; nil: they are of this task.
	Fork *task.ForkedFrom `json:"fork,omitempty"`
	// CutBytes is the number of the oldest bytes of this session's transcript that the API no longer has.
	CutBytes int64 `json:"cut_bytes,omitempty"`
}

// Repo describes the checkout in the workspace. The bundle contains Branch. omoi-agent creates a bare repository
// `origin` from it next to the workspace, so that commit and push work without a credential.
type Repo struct {
	Branch      string `json:"branch"`
	Base        string `json:"base"`   // base commit of the task's branch
	Bundle      string `json:"bundle"` // path in the sandbox; default InBundle
	AuthorName  string `json:"author_name"`
	AuthorEmail string `json:"author_email"`
}

// Collected is the JSON object that `omoi-agent collect` prints.
type Collected struct {
	Repo    bool   `json:"repo"`    // the workspace has a Git repository
	Head    string `json:"head"`    // head commit of the task's branch
	Commits int    `json:"commits"` // number of commits in Base..Head
	// Bundle is the path of a bundle with refs/heads/<branch> and, for uncommitted changes, refs/omoi/rescue. Empty:
	// there is nothing new.
	Bundle string `json:"bundle"`
	Rescue string `json:"rescue"` // commit of the uncommitted changes; empty if there are none
	Files  int    `json:"files"`  // number of uncommitted files without ignored ones
	Bytes  int64  `json:"bytes"`
	// Patch is the path of the uncommitted changes as a patch, if a commit was not possible.
	Patch string `json:"patch"`
	// Unsent is the number of events in the spool that the API has not acknowledged, and of reports of the hook.
	Unsent int64 `json:"unsent,omitempty"`
	// Unkept says that the agent ended without a checkpoint of its last files.
	Unkept bool `json:"unkept,omitempty"`
	// Notes say what was left out or failed, one sentence each.
	Notes []string `json:"notes,omitempty"`
}

// TestSides is the JSON object that `omoi-agent tests` prints. Its trees are in the repository of the workspace.
type TestSides struct {
	Own      string   `json:"own"`       // tree of the work
	WithBase string   `json:"with_base"` // tree of the work with the test side of the base commit; Own if the test sides are equal
	Base     string   `json:"base"`      // tree of the base commit
	Changed  []string `json:"changed"`   // files of the test side of the base commit that the work changed or removed
	Added    int      `json:"added"`     // number of files that the work added to the test side
	Tests    int      `json:"tests"`     // number of files of the test side of the base commit
}

// Validation is set if the agent validates the work of another agent.
type Validation struct {
	Round  int `json:"round"`  // number of the validation round, from 1
	Rounds int `json:"rounds"` // maximum number of rounds
}

// Validates reports whether the agent judges work, so that what it changes is not part of the work.
func (c Config) Validates() bool { return c.Validation != nil || c.Mode == task.ModeValidation }

// ValidatorPrompt returns the prompt of a validator; missing is the feedback of an earlier round. The contract is that of
// the task, empty if nothing is known.
func ValidatorPrompt(title, description, contract, missing string) string {
	text := strings.TrimSpace(description)
	if title != "" && !strings.HasPrefix(text, title) {
		text = strings.TrimSpace(title + "\n\n" + text)
	}
	parts := []string{
		"Another agent was given the task below. Its work is what stands on the branch that is checked out here. Find out whether the work does what was asked: read what was changed, run it, and run its tests. Then give your verdict.",
		"The task was:\n\n" + text,
	}
	if contract != "" {
		parts = append(parts, "The work must keep the contract of the task. "+contract)
	}
	if missing != "" {
		parts = append(parts, "An earlier round of validation found this missing; look whether it is there now:\n\n"+missing)
	}
	return strings.Join(parts, "\n\n")
}

// AnswersText returns questions and their answers as a part of a prompt; empty if there are none.
func AnswersText(answers []task.Answered) string {
	var parts []string
	for _, a := range answers {
		parts = append(parts, "You asked: "+a.Question+"\n\nA user answered: "+a.Answer)
	}
	return strings.Join(parts, "\n\n")
}
