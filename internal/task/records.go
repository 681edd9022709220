package task

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Work is a task as an agent and a Git host need it.
type Work struct {
	TaskID         string
	Key            string // for example APP-12
	TicketID       string
	ProjectID      string
	OrganizationID string
	UserID         string // user of the task; empty: none
	Suspended      bool   // a user suspended the task
	// Credential is the name of the credential that the newest attempt was given; empty: there is no attempt.
	Credential string
	// Takeover says why this credential is not the first of its owner and kind; nil: it is the first, or there is none.
	Takeover *Takeover

	Title       string
	Description string
	TaskType    string
	PhaseID     string
	Priority    string
	Mode        string
	Agent       string
	Provider    string
	Continuous  bool

	TicketTitle       string
	TicketDescription string
	TicketType        string

	Repo          string // owner/name, or an absolute path; empty: none
	DefaultBranch string // empty: the repository's own
	Branch        string // empty until created
	Base          string // of a fork also without Branch
	// EarlierBranches are those that the task had before rewinds, oldest first.
	EarlierBranches []string
	ForkedFrom      *ForkedFrom // nil: not a fork
	PullURL         string

	Execution Execution
	Contract  string // task contract in sentences; empty: nothing is known
	// AcceptedContract is the accepted part of the task contract, a JSON object.
	AcceptedContract json.RawMessage
	// Unreadable reports that variables of env cannot be decrypted by this process and are left out; nil: none.
	Unreadable error
	// Setup is the project's setup command with its limit; zero: the default.
	Setup        string
	SetupTimeout time.Duration
	// ModelPrices are those of the project, which override the configured ones; see [ParseModelPrices].
	ModelPrices string
	// CommitLeftovers is the project's setting: omoi commits what a successful agent leaves uncommitted.
	CommitLeftovers bool
	// RepeatTests is the project's setting: omoi repeats the test command at the end of each attempt, each run within TestTimeout.
	RepeatTests bool
	TestTimeout time.Duration
	// Compared reports that the task is one of a comparison, so that omoi also tests the base commit.
	Compared bool
	// TestsFixed reports that an accepted task contract says that tests must not change.
	TestsFixed bool
	Answers    []Answered // of earlier attempts, oldest first
	// Feedback is the text for the attempt that starts now; empty for the first.
	Feedback string
	// Attempt is the number of the newest attempt; 0 before the first. Only its sandbox may move the branch, unless it
	// validates.
	Attempt int
	// Validates reports that the newest attempt validates the work of WorkSandbox in this round.
	Validates   bool
	Round       int
	Rounds      int // maximum number of rounds; 0: no validator
	WorkSandbox string
	WorkHead    string // commit at which its work was collected; empty: unknown
}

// BranchOwner returns the name under which a repository records the branch of a task that had a number of branches before.
func BranchOwner(taskID string, earlier int) string {
	if earlier == 0 {
		return taskID
	}
	return taskID + "-" + strconv.Itoa(earlier)
}

// FormerBranches returns the names that the branch may have in checkpoints of the task.
func (w Work) FormerBranches() []string {
	if w.ForkedFrom == nil {
		return w.EarlierBranches
	}
	return slices.Concat(w.ForkedFrom.Branches, w.EarlierBranches)
}

// Execution is a task's execution_config. Unknown keys are stored and ignored.
type Execution struct {
	Script          json.RawMessage   `json:"script,omitempty" doc:"Steps of the scripted agent, an object {\"steps\": [...]}; docs/TASKS.md lists the steps. Default: none."`
	Command         []string          `json:"command,omitempty" doc:"Program and arguments of the agent runtime command. Default: none."`
	Setup           *string           `json:"setup,omitempty" doc:"Shell command that runs before the agent, instead of that of the project; empty: none. Default: that of the project."`
	TestCommand     string            `json:"test_command,omitempty" doc:"Shell command that tests the work; exit code 0: passed. Default: none."`
	Env             map[string]string `json:"env,omitempty" doc:"Environment variables of the agent, by name; answers hide the values. Default: none."`
	ForceExecute    bool              `json:"force_execute,omitempty" doc:"True: run the task although its project has autonomous_execution_enabled false. Default: false."`
	Continuous      *bool             `json:"continuous,omitempty" doc:"True: the agent repeats its work until the checks pass. Default: by agent and mode."`
	WaitForMessages bool              `json:"wait_for_messages,omitempty" doc:"True: the agent waits for messages after its work. Default: false."`
	ReadsMessages   bool              `json:"reads_messages,omitempty" doc:"true: the program reads messages from its standard input. Only for the agent runtime command. Default: false."`
	Credentials     []string          `json:"credentials,omitempty" doc:"Kinds of the credentials that the sandbox gets; empty list: none. Default: what the agent needs."`
	Validator       Validator         `json:"validator,omitzero" doc:"Agent that validates the work of a task with validate. Default: the agent of the task."`
}

// Waits reports whether the agent waits for messages: by a setting of the task, or by a step of its script.
func (e Execution) Waits() bool {
	var script struct {
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	_ = json.Unmarshal(e.Script, &script) // validated when the task was created
	return e.WaitForMessages || slices.ContainsFunc(script.Steps, func(step map[string]json.RawMessage) bool {
		return step["wait_message"] != nil
	})
}

// SandboxState is the state of a ledger row.
type SandboxState string

// The states of a ledger row, in order.
const (
	SandboxIntended SandboxState = "intended"
	SandboxCreating SandboxState = "creating"
	SandboxRunning  SandboxState = "running"
	SandboxDeleting SandboxState = "deleting"
	SandboxGone     SandboxState = "gone"
	SandboxLost     SandboxState = "lost"
)

// Sandbox is a ledger row, as `omoi sandbox list --json` and the API return it.
type Sandbox struct {
	ID                string       `json:"id" doc:"ID of the sandbox in all routes. omoi chooses the ID, except for an unmanaged sandbox."`
	Provider          string       `json:"provider" doc:"Sandbox provider: one of sandboxes of GET /api/v1/info, or bare: unmanaged."`
	ProviderID        string       `json:"provider_id" doc:"ID that the provider gave the sandbox, for example of the container; empty: none."`
	HostID            string       `json:"host_id" doc:"Host of a local or Docker sandbox; empty: bound to no host."`
	TaskID            string       `json:"task_id" doc:"Task whose attempt runs or ran in the sandbox; empty: unmanaged."`
	TaskKey           string       `json:"task_key" doc:"Key of that task, for example APP-12; empty: unmanaged."`
	Attempt           int          `json:"attempt" doc:"Number of the attempt in its task, from 1; 0: unmanaged."`
	State             SandboxState `json:"state" enum:"intended,creating,running,deleting,gone,lost" doc:"intended: requested. gone: deleted. lost: unreachable for good. More values may be added."`
	Isolation         []string     `json:"isolation" nullable:"false" doc:"Active isolation features, as the provider reports, for example userns or seccomp."`
	CreatedAt         time.Time    `json:"created_at" doc:"When omoi recorded the request, before asking the provider."`
	ProviderCreatedAt *time.Time   `json:"provider_created_at" doc:"When the provider created the sandbox, as the provider says, else when it first answered; null: never seen."`
	AdoptedAt         *time.Time   `json:"adopted_at" doc:"When an existing sandbox was adopted; after deleted_at: when it reappeared after a verified deletion. Null: neither."`
	StartedAt         *time.Time   `json:"started_at" doc:"When the agent started; null: not started."`
	EndedAt           *time.Time   `json:"ended_at" doc:"End of the attempt, after which events are late; null: not ended."`
	DeletedAt         *time.Time   `json:"deleted_at" doc:"When deletion was first requested; null: not requested."`
	GoneAt            *time.Time   `json:"gone_at" doc:"First absence check that found no sandbox; null: the sandbox may exist."`
	VerifiedAt        *time.Time   `json:"verified_at" doc:"Second absence check: deletion verified. Null: not verified, and always null for external and unmanaged sandboxes."`
	SecondsAlive      float64      `json:"seconds_alive" doc:"Lifetime in seconds, up to gone_at or, while the sandbox exists, up to now."`
	// Labels are what its provider was told that it is; see sandbox.Labels. For workers only.
	Labels           json.RawMessage `json:"-"`
	CostUSD          *float64        `json:"cost_usd" doc:"Model cost in USD that the agent reported, as far as known; null: unknown."`
	CostUnknown      bool            `json:"cost_unknown" doc:"true: the agent used a model without a known price, which cost_usd leaves out."`
	Cost             *Money          `json:"cost" doc:"Cost of the sandbox at its provider so far; null: no price is configured."`
	Salvage          *Salvage        `json:"salvage" doc:"How uncommitted work was saved before the deletion; null: not known yet."`
	Head             int64           `json:"events" doc:"Number of stored events, which is the sequence of the newest; 0: none."`
	Transport        string          `json:"transport" enum:"push,pull," doc:"How events leave the sandbox: push (the agent calls the API), pull (a worker reads files); empty: not created yet. More values may be added."`
	EventsIncomplete bool            `json:"events_incomplete" doc:"true: the sandbox is gone, and its last events are missing because they were not sent or not read to the end."`
}

// Transports: how what an agent says gets out of its sandbox.
const (
	TransportPush = "push" // the agent sends it
	TransportPull = "pull" // a worker reads it
)

// Kinds of salvage.
const (
	SalvageNone  = "none"  // the workspace was clean, or there is none
	SalvageRef   = "ref"   // kept under Ref in the repository
	SalvagePatch = "patch" // kept as text Ref in the store
	SalvageLost  = "lost"  // the sandbox could not be reached since LostSince
)

// Salvage says what became of the uncommitted work of a sandbox.
type Salvage struct {
	Kind      string     `json:"kind" enum:"none,ref,patch,lost" doc:"none: nothing to save; ref: commit under ref in the repository; patch: stored by omoi; lost: the sandbox could not be reached."`
	Ref       string     `json:"ref,omitempty" doc:"Git ref of the repository for kind ref, ID of the stored text for kind patch. Left out: neither."`
	Files     int        `json:"files" doc:"Number of files with uncommitted changes."`
	Bytes     int64      `json:"bytes" doc:"Size of the uncommitted changes, in bytes."`
	LostSince *time.Time `json:"lost_since,omitempty" doc:"Time of the last sign of life, for kind lost. Left out: not lost."`
	// Head is kept as a bundle if Ref is a text of the store.
	Head  string   `json:"head,omitempty" doc:"Commit that was not pushed to the branch, and that ref saves. Left out: none."`
	Notes []string `json:"notes,omitempty" doc:"What was left out or differs, one sentence each. Left out: nothing."`
}

// Unpublished is committed work that did not get to its branch, and which attempt did it.
type Unpublished struct {
	Attempt int
	Head    string // empty: there is none
	Ref     string // of the repository, which holds it
	Text    string // of the store, which keeps it as a bundle, where the repository did not take it
}

// Unpublished is what the attempt has left beside its branch, if that can still be brought there.
func (a Attempt) Unpublished() Unpublished {
	if a.HeadCommit != nil || a.Salvage == nil || a.Salvage.Head == "" {
		return Unpublished{}
	}
	out := Unpublished{Attempt: a.Number, Head: a.Salvage.Head}
	switch a.Salvage.Kind {
	case SalvageRef:
		out.Ref = a.Salvage.Ref
	case SalvagePatch:
		out.Text = a.Salvage.Ref
	}
	return out
}

// Pulse is what the store knows of an attempt's signs of life, as ages by the database's clock.
// An age below zero means never.
type Pulse struct {
	Head     int64
	Assigned time.Duration
	Started  time.Duration // age of agent.started
	Beat     time.Duration // age of the newest event of any kind
	Work     time.Duration // age of the newest event that counts as work
	Waiting  time.Duration // age of agent.waiting if only heartbeats came after it
	Tool     string        // tool call in progress, as the newest heartbeat names it
	ToolAge  time.Duration // its age at that heartbeat, plus the heartbeat's age
	LastType string
	// Interrupted says that the newest word of its agent is that it ended for an interrupt; InterruptedBy the kind of who sent that.
	Interrupted   bool
	InterruptedBy string
	IntakeOut     time.Duration // how long intake was down within the window asked about
	RelayOut      time.Duration // how long the relay was down within that window
	// VerdictDue says that a verdict of its agent is accepted and not settled.
	VerdictDue bool
}

// SeenAgain reports whether the sandbox reappeared after its deletion was verified: a late create was adopted after the deletion.
func (s Sandbox) SeenAgain() bool {
	return s.AdoptedAt != nil && s.DeletedAt != nil && s.AdoptedAt.After(*s.DeletedAt)
}

// Money is an amount in a currency.
type Money struct {
	Amount   float64 `json:"amount" doc:"Amount in units of the currency, not rounded."`
	Currency string  `json:"currency" doc:"Currency code of the configured price, for example EUR."`
}

// Machine reports whether a machine of ours stands behind the row: one that has to be seen gone.
func (s Sandbox) Machine() bool { return ProviderOf(s.Provider).Machine }

// EnvRequireChanges is the setting by which a task may end without a commit, where its tree is clean and its branch stands where it
// was: "false" allows it. A task that feedback began has it: what was said may be a question, or wrong.
const EnvRequireChanges = "REQUIRE_CHANGES"
