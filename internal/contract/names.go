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

// Activity names. Quick ones run on [QueueTasks]; those of the sandbox group run on
// the queue that BeginAttempt answers.
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

// TaskWorkflowID is the workflow id of a task, in every one of its runs.
func TaskWorkflowID(taskID string) string { return taskPrefix + taskID }

// TaskIDOf is the inverse of [TaskWorkflowID].
func TaskIDOf(workflowID string) (string, bool) { return strings.CutPrefix(workflowID, taskPrefix) }

// CleanupWorkflowID is the workflow id under which a sandbox is brought to its end.
func CleanupWorkflowID(sandboxID string) string { return cleanupPrefix + sandboxID }

// QueueHost is the task queue of a machine that holds sandboxes itself.
func QueueHost(hostID string) string { return "omoi-host-" + hostID }

// QueueOf returns the task queue of the activities of a sandbox. A sandbox without a machine is any worker's; a machine that is bound
// to a host is that host's.
func QueueOf(caps task.Capabilities, hostID string) string {
	switch {
	case !caps.Machine:
		return QueueTasks
	case caps.HostBound && hostID != "":
		return QueueHost(hostID)
	}
	return QueueSandboxes
}
