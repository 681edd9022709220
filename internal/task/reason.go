package task

import (
	"encoding/json"
	"time"
)

// ReasonCode names a condition for programs.
type ReasonCode string

// Why a task waits in the queue.
const (
	ReasonSlot               ReasonCode = "slot"                     // all slots are in use
	ReasonProjectLimit       ReasonCode = "project_limit"            // Used and Limit count slots; a limit of 0 admits nothing
	ReasonOrganizationLimit  ReasonCode = "organization_limit"       // likewise
	ReasonBudgetReserved     ReasonCode = "budget_reserved"          // running tasks reserve what is left of the project's budget
	ReasonTaskBudget         ReasonCode = "task_budget"              // Used and Limit are in Unit
	ReasonProjectBudget      ReasonCode = "project_budget"           // likewise
	ReasonDependency         ReasonCode = "dependency"               // Tasks are not completed yet
	ReasonDependencyFailed   ReasonCode = "dependency_failed"        // a dependency failed or was cancelled
	ReasonProjectPaused      ReasonCode = "project_paused"           // by a user
	ReasonOrganizationPaused ReasonCode = "organization_paused"      // by the setting orchestrator.enabled
	ReasonAutonomousOff      ReasonCode = "autonomous_execution_off" // and no user created the task
	ReasonCooldown           ReasonCode = "credential_cooldown"      // Until then
	ReasonCooldownProbe      ReasonCode = "credential_probe"         // another task tries the credential
	ReasonCooldownOver       ReasonCode = "credential_available"     // tasks resume one after the other
	ReasonLimitReset         ReasonCode = "limit_reset"              // the task itself reached the limit, which resets at Until
	ReasonLimitUnknown       ReasonCode = "limit_reset_unknown"      // likewise; the provider named no time, so omoi tries again at Until
)

// What an admitted task waits for.
const (
	ReasonEarlierSandbox  ReasonCode = "earlier_sandbox"      // the sandbox of Attempt may still exist; at most Seconds after the attempt ended
	ReasonUnverifiedLimit ReasonCode = "unverified_sandboxes" // Used sandboxes of Provider are not verified deleted, Limit are allowed; Hosts hold them
	ReasonNoHost          ReasonCode = "no_host"              // no online host offers Provider
	ReasonHostsFull       ReasonCode = "hosts_full"           // Limit hosts offer Provider and have no room
	ReasonRetrying        ReasonCode = "retrying"             // a step failed Tries times for Detail; the next try is within Seconds
	ReasonUnclear         ReasonCode = "unclear"              // of a running attempt: the last check found Detail, which does not end the attempt
)

// Units of a budget.
const (
	UnitTokens         = "tokens"
	UnitUSD            = "usd"
	UnitSandboxSeconds = "sandbox_s"
	UnitWallClock      = "wall_clock_s"
)

// Reason is a condition as a code with its numbers. The zero value: no condition.
type Reason struct {
	Code    ReasonCode `json:"code"`    // empty: none
	Message string     `json:"message"` // for users; package explain writes it from the rest
	Used    float64    `json:"used,omitempty"`
	Limit   float64    `json:"limit,omitempty"`
	Unit    string     `json:"unit,omitempty"` // of Used and Limit: tokens, usd, sandbox_s, wall_clock_s; empty: slots
	Tasks   int        `json:"tasks,omitempty"`
	Until   *time.Time `json:"until,omitempty"`

	Provider string       `json:"provider,omitempty"`
	Hosts    []HostReason `json:"hosts,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Tries    int          `json:"tries,omitempty"`
	Seconds  float64      `json:"seconds,omitempty"`
	Detail   string       `json:"detail,omitempty"` // text of a provider, of Git or of another service
}

// HostReason is a host with its part in a reason.
type HostReason struct {
	Name      string `json:"name"`
	Sandboxes int    `json:"sandboxes"`
	Online    bool   `json:"online"`
}

// ParseReason reads a reason from its JSON form. Empty text is the zero value, and so is text that is not a reason.
func ParseReason(text string) Reason {
	var r Reason
	if text == "" || json.Unmarshal([]byte(text), &r) != nil {
		return Reason{}
	}
	return r
}

// Stored returns the JSON form that [ParseReason] reads, without the message.
func (r Reason) Stored() string {
	if r.Code == "" {
		return ""
	}
	r.Message = ""
	stored, err := json.Marshal(r)
	if err != nil {
		return "" // a number that JSON cannot express, which no limit is
	}
	return string(stored)
}
