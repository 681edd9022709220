package task

import (
	"encoding/json"
	"regexp"
	"time"
)

// ReasonCode names a condition for programs.
type ReasonCode string

// Why a task waits in the queue.
const (
	ReasonSlot               ReasonCode = "slot"                     // all slots are in use
	ReasonProjectLimit       ReasonCode = "project_limit"            // Used and Limit count slots; a limit of 0 admits nothing
	ReasonOrganizationLimit  ReasonCode = "organization_limit"       // the same for the organization
	ReasonBudgetReserved     ReasonCode = "budget_reserved"          // running tasks reserve what is left of the project's budget
	ReasonTaskBudget         ReasonCode = "task_budget"              // Used and Limit are in Unit
	ReasonProjectBudget      ReasonCode = "project_budget"           // Used and Limit are in Unit
	ReasonDependency         ReasonCode = "dependency"               // Tasks are not completed yet
	ReasonDependencyFailed   ReasonCode = "dependency_failed"        // a dependency failed or was cancelled
	ReasonProjectPaused      ReasonCode = "project_paused"           // by a user
	ReasonOrganizationPaused ReasonCode = "organization_paused"      // by the setting orchestrator.enabled
	ReasonAutonomousOff      ReasonCode = "autonomous_execution_off" // and no user created the task
	ReasonCooldown           ReasonCode = "credential_cooldown"      // resets at Until
	ReasonCooldownProbe      ReasonCode = "credential_probe"         // another task tests the credential
	ReasonCooldownOver       ReasonCode = "credential_available"     // tasks resume one after the other
	ReasonTakeover           ReasonCode = "credential_takeover"      // the task itself reached the limit; another credential takes over when it is not limited
	ReasonLimitReset         ReasonCode = "limit_reset"              // the task itself reached the limit, which resets at Until
	ReasonLimitUnknown       ReasonCode = "limit_reset_unknown"      // the model provider named no time: omoi retries at Until
	ReasonServerFull         ReasonCode = "server_full"              // the OpenHands server runs as many conversations as it allows: omoi retries at Until
)

// What an admitted task waits for.
const (
	ReasonEarlierSandbox  ReasonCode = "earlier_sandbox"      // the sandbox of Attempt may still exist; at most Seconds after the attempt ended
	ReasonUnverifiedLimit ReasonCode = "unverified_sandboxes" // Used sandboxes of Provider are not verified deleted, Limit are allowed; Hosts hold them
	ReasonNoHost          ReasonCode = "no_host"              // no online host offers Provider
	ReasonHostsFull       ReasonCode = "hosts_full"           // Limit hosts offer Provider and have no room
	ReasonRetrying        ReasonCode = "retrying"             // a step failed Tries times for Detail; the next try is within Seconds
)

// Why an attempt or a task ended. [ReasonTaskBudget], [ReasonProjectBudget] and [ReasonProjectPaused] end attempts too.
const (
	ReasonSetupFailed    ReasonCode = "setup_failed"    // the setup step of the project
	ReasonSetupTimeout   ReasonCode = "setup_timeout"   // the setup step exceeded its limit
	ReasonNoCredential   ReasonCode = "no_credential"   //nolint:gosec // G101: a code; Credential is missing or unusable
	ReasonInterrupted    ReasonCode = "interrupted"     // the agent was interrupted by By and did not continue
	ReasonOutOfMemory    ReasonCode = "out_of_memory"   // agent out of memory
	ReasonDiskFull       ReasonCode = "disk_full"       // the agent filled the disk of its sandbox
	ReasonKilled         ReasonCode = "killed"          // agent killed from outside
	ReasonStopped        ReasonCode = "stopped"         // agent stopped on request
	ReasonExited         ReasonCode = "exited"          // agent exited with ExitCode and without a report
	ReasonNotStarted     ReasonCode = "not_started"     // the agent did not report its start
	ReasonNoWork         ReasonCode = "no_work"         // the agent sends heartbeats and does no work
	ReasonIdle           ReasonCode = "idle"            // the agent waited for a message
	ReasonSilent         ReasonCode = "silent"          // the agent sends no heartbeats
	ReasonSandboxGone    ReasonCode = "sandbox_gone"    // the provider no longer has the sandbox
	ReasonSandboxStopped ReasonCode = "sandbox_stopped" // the sandbox is stopped, for Detail
	ReasonMaxDuration    ReasonCode = "max_duration"    // the attempt reached its maximum duration; Detail: result of the last check
	ReasonNoVerdict      ReasonCode = "no_verdict"      // the validator ended without a verdict
	ReasonNoCommit       ReasonCode = "no_commit"       // the task requires a commit, and its branch has none
	ReasonTestsChanged   ReasonCode = "tests_changed"   // the test command passes only with changed tests, which the task contract forbids
	ReasonReset          ReasonCode = "reset"           // the workflow was reset to a point before the attempt
	ReasonTaskEnded      ReasonCode = "task_ended"      // the workflow was reset, and the task ended without the attempt
	ReasonSandboxLeft    ReasonCode = "sandbox_left"    // the sandbox was gone when a workflow run loaded the task
	ReasonTerminated     ReasonCode = "terminated"      // the workflow was terminated
	ReasonQuestion       ReasonCode = "question"        // the agent asked a user, and nobody answered while it waited
	ReasonImported       ReasonCode = "imported"        // the task had not ended when it was imported from OmoiOS
)

// Why a check could not determine the state of a running attempt. Such a check never ends the attempt.
const (
	ReasonStoreUnreachable    ReasonCode = "store_unreachable"
	ReasonSandboxUnreachable  ReasonCode = "sandbox_unreachable"  // for the worker that checked
	ReasonProviderUnreachable ReasonCode = "provider_unreachable" // for Detail
	ReasonAgentUnknown        ReasonCode = "agent_unknown"        // the provider does not know whether the agent runs, for Detail
	ReasonIntakeDown          ReasonCode = "intake_down"          // events were not accepted for a while
	ReasonRelayDown           ReasonCode = "relay_down"           // events and commands were not relayed for a while
	ReasonSpoolUnreadable     ReasonCode = "spool_unreadable"     // the agent's spool
	ReasonEndUnsent           ReasonCode = "end_unsent"           // the agent ended and cannot reach the API; Detail: what to do
	ReasonEventsUnsent        ReasonCode = "events_unsent"        // the agent works and cannot reach the API; Detail: what to do
	ReasonEventsPending       ReasonCode = "events_pending"       // the agent sends heartbeats that are not stored yet
	ReasonVerdictPending      ReasonCode = "verdict_pending"      // the validator's verdict is accepted and on its way to the task
)

// Units of a budget.
const (
	UnitTokens         = "tokens"
	UnitUSD            = "usd"
	UnitSandboxSeconds = "sandbox_s"
	UnitWallClock      = "wall_clock_s"
)

// Reason is a condition: a code with its parameters. The zero value means no condition.
type Reason struct {
	Code    ReasonCode `json:"code" doc:"Condition, for programs. Empty: none."`
	Message string     `json:"message" doc:"Sentence or part of a sentence for users, written from the other fields."`
	Used    float64    `json:"used,omitempty" doc:"Amount in use, in unit. Left out: 0, or the condition has no limit."`
	Limit   float64    `json:"limit,omitempty" doc:"Limit of used, in unit; of the code hosts_full the number of full hosts. Left out: 0 (nothing is admitted), or the condition has no limit."`
	Unit    string     `json:"unit,omitempty" enum:"tokens,usd,sandbox_s,wall_clock_s" doc:"Unit of used and limit. Left out: slots, sandboxes or hosts, by code."`
	Tasks   int        `json:"tasks,omitempty" doc:"Number of dependencies that are not completed. Only with the code dependency."`
	Keys    []string   `json:"keys,omitempty" doc:"Keys of these dependencies when the task was read, oldest first; of the code dependency_failed those that failed or were cancelled. Only with these two codes, in tasks and lists."`
	Until   *time.Time `json:"until,omitempty" doc:"When the condition is expected to end, or is checked again. Left out: the condition has no such time."`

	Provider string       `json:"provider,omitempty" doc:"Sandbox provider that the condition is about. Left out: none."`
	Hosts    []HostReason `json:"hosts,omitempty" doc:"Hosts that hold the unverified sandboxes. Only with the code unverified_sandboxes."`
	Attempt  int          `json:"attempt,omitempty" doc:"Number of the attempt whose sandbox may still exist. Only with the code earlier_sandbox."`
	Tries    int          `json:"tries,omitempty" doc:"How often the step has failed. Only with the code retrying."`
	Seconds  float64      `json:"seconds,omitempty" doc:"Longest wait in seconds: of the code retrying, until the next try; of earlier_sandbox, from the end of that attempt. Left out: 0."`
	Detail   string       `json:"detail,omitempty" doc:"Text of a provider, of Git or of another service. Left out: none."`

	By         string `json:"by,omitempty" doc:"Kind of sender that interrupted the agent, for example person (a user). Left out: unknown, or not interrupted."`
	Credential string `json:"credential,omitempty" doc:"Kind of the missing or unusable credential, for example github. Left out: the condition has none."`
	ExitCode   int    `json:"exit_code,omitempty" doc:"Exit code of the agent's process, with the code exited. Left out: 0, or another code."`
}

// NoCredential returns the reason that no usable credential of a kind exists.
func NoCredential(kind string) Reason { return Reason{Code: ReasonNoCredential, Credential: kind} }

// OfSetup reports whether the setup step of the project failed, other than for lack of memory or disk.
func (r Reason) OfSetup() bool { return r.Code == ReasonSetupFailed || r.Code == ReasonSetupTimeout }

// HostReason is a host with its part in a reason.
type HostReason struct {
	Name      string `json:"name" doc:"Host name that the worker of the host reports."`
	Sandboxes int    `json:"sandboxes" doc:"Number of sandboxes on the host that are not verified as deleted."`
	Online    bool   `json:"online" doc:"true: the host sends heartbeats."`
}

// ParseReason reads a reason from its JSON form. Empty text is the zero value, and so is text that is not a reason.
func ParseReason(text string) Reason {
	var r Reason
	if text == "" || json.Unmarshal([]byte(text), &r) != nil {
		return Reason{}
	}
	return r
}

// Stored returns the JSON form that [ParseReason] reads. It leaves out the message.
func (r Reason) Stored() string {
	if r.Code == "" {
		return ""
	}
	r.Message = ""
	stored, err := json.Marshal(r)
	if err != nil {
		return "" // a number that JSON cannot express; no limit is one
	}
	return string(stored)
}

// EndOfOutput introduces the output that the reason of a failure quotes.
const EndOfOutput = "The end of its output:\n"

var blankLines = regexp.MustCompile(`\n(\s*\n)+`)

// Squeezed removes blank lines: readers show a reason up to its first one.
func Squeezed(text string) string { return blankLines.ReplaceAllString(text, "\n") }

// WasInterrupted starts the reason of an agent that was interrupted and got no further message.
const WasInterrupted = "The agent was interrupted"

// FromPerson is the sender kind of a user.
const FromPerson = "person"
