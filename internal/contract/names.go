// Package contract holds what a workflow history freezes: the names of workflows,
// activities, signals and queries, the shapes of their payloads, and the table of
// timeouts and retries. A change here or in package workflows needs a recorded
// history or a version gate; fields are only ever added.
package contract

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Workflow types.
const (
	TaskWorkflow      = "TaskWorkflow"
	CleanupWorkflow   = "SandboxCleanupWorkflow"
	ReaperWorkflow    = "ReaperWorkflow"
	PullRelayWorkflow = "PullRelayWorkflow" // for agents that cannot reach the API

	GuardianWorkflow  = "GuardianWorkflow"
	ConductorWorkflow = "ConductorWorkflow"
	RetentionWorkflow = "RetentionWorkflow"
)

// Activity names. Short activities run on [QueueTasks], activities of the sandbox group on the queue that BeginAttempt
// returns.
const (
	LoadTask        = "LoadTask"
	SaveTaskState   = "SaveTaskState"
	BeginAttempt    = "BeginAttempt"
	LoadCommand     = "LoadCommand"
	LoadEvents      = "LoadEvents"
	EnsureBranch    = "EnsureBranch"
	PublishBranch   = "PublishBranch"
	OpenPullRequest = "OpenPullRequest"

	EnsureSandbox = "EnsureSandbox"
	StartAgent    = "StartAgent"
	StopAgent     = "StopAgent"
	CheckAgent    = "CheckAgent"
	CollectWork   = "CollectWork"
	RepeatTests   = "RepeatTests"
	RelaySandbox  = "RelaySandbox" // on [QueuePullRelays]
	FlushSpool    = "FlushSpool"

	LoadSandbox        = "LoadSandbox"
	Salvage            = "Salvage"
	DeleteSandbox      = "DeleteSandbox"
	VerifyDeleted      = "VerifyDeleted"
	RecordSandboxState = "RecordSandboxState"

	ListReaperTargets = "ListReaperTargets"
	FindOrphans       = "FindOrphans"
	StartCleanup      = "StartCleanup"
	ReconcileTasks    = "ReconcileTasks"
	AdmitTasks        = "AdmitTasks"
	PauseIdleReaper   = "PauseIdleReaper"

	BeginGuardianCycle = "BeginGuardianCycle"
	AnalyzeAgents      = "AnalyzeAgents"
	EndGuardianCycle   = "EndGuardianCycle"

	BeginConductorCycle  = "BeginConductorCycle"
	AnalyzeOrganizations = "AnalyzeOrganizations"
	EndConductorCycle    = "EndConductorCycle"

	BeginRetention = "BeginRetention"
	RemoveExpired  = "RemoveExpired"
)

// Signals and queries of [TaskWorkflow].
const (
	SignalSandboxEvents  = "sandbox-events"  // payload [Digest]
	SignalCommand        = "command"         // payload [Command]
	SignalAdmitted       = "admitted"        // no payload
	SignalCheck          = "check"           // payload [CheckSignal]
	SignalSandboxDeleted = "sandbox-deleted" // payload [SandboxDeletedSignal]
	QueryState           = "state"           // answers [TaskView]
)

// Task queues.
const (
	QueueTasks     = "omoi-tasks"
	QueueSandboxes = "omoi-sandboxes"
)

// ScheduleReaper is the schedule that runs [ReaperWorkflow].
const ScheduleReaper = "omoi-reaper"

// ScheduleGuardian is the schedule that runs [GuardianWorkflow].
const ScheduleGuardian = "omoi-guardian"

// ScheduleConductor is the schedule that runs [ConductorWorkflow].
const ScheduleConductor = "omoi-conductor"

// ScheduleRetention is the schedule that runs [RetentionWorkflow].
const ScheduleRetention = "omoi-retention"

// Search attributes, all of type Keyword.
const (
	AttributeStatus  = "OmoiTaskStatus"
	AttributeProject = "OmoiProject"
	AttributeOrg     = "OmoiOrg"
)

const (
	taskPrefix    = "task-"
	cleanupPrefix = "cleanup-"
)

// TaskWorkflowID returns the workflow ID of a task, which all its runs share.
func TaskWorkflowID(taskID string) string { return taskPrefix + taskID }

// TaskIDOf returns the task ID in a workflow ID of [TaskWorkflowID], and whether workflowID is one.
func TaskIDOf(workflowID string) (string, bool) { return strings.CutPrefix(workflowID, taskPrefix) }

// CleanupWorkflowID returns the workflow ID of the cleanup of a sandbox.
func CleanupWorkflowID(sandboxID string) string { return cleanupPrefix + sandboxID }

// QueueHost returns the task queue of a host.
func QueueHost(hostID string) string { return "omoi-host-" + hostID }

// QueueOf returns the task queue of a sandbox's activities: the host's queue if the sandbox is bound to a host. Any worker serves a
// sandbox without a machine.
func QueueOf(caps task.Capabilities, hostID string) string {
	switch {
	case !caps.Machine:
		return QueueTasks
	case caps.HostBound && hostID != "":
		return QueueHost(hostID)
	}
	return QueueSandboxes
}
