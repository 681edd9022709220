package worker

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/workflows"
)

// registry is the part of an SDK worker that registration needs.
type registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// named is one function and the name that histories know it by.
type named struct {
	name string
	fn   any
}

// workflowList is every workflow type.
func workflowList() []named {
	return []named{
		{contract.TaskWorkflow, workflows.TaskWorkflow},
		{contract.CleanupWorkflow, workflows.SandboxCleanupWorkflow},
		{contract.ReaperWorkflow, workflows.ReaperWorkflow},
		{contract.PullRelayWorkflow, workflows.PullRelayWorkflow},
		{contract.GuardianWorkflow, workflows.GuardianWorkflow},
		{contract.ConductorWorkflow, workflows.ConductorWorkflow},
		{contract.RetentionWorkflow, workflows.RetentionWorkflow},
	}
}

// quickList is every activity that works on store, git and Temporal alone.
func quickList(a *activities.Activities) []named {
	guardian, conductor := a.GuardianCycle(), a.ConductorCycle()
	return []named{
		{contract.LoadTask, a.LoadTask},
		{contract.SaveTaskState, a.SaveTaskState},
		{contract.BeginAttempt, a.BeginAttempt},
		{contract.LoadCommand, a.LoadCommand},
		{contract.LoadEvents, a.LoadEvents},
		{contract.EnsureBranch, a.EnsureBranch},
		{contract.PublishBranch, a.PublishBranch},
		{contract.OpenPullRequest, a.OpenPullRequest},
		{contract.LoadSandbox, a.LoadSandbox},
		{contract.RecordSandboxState, a.RecordSandboxState},
		{contract.ListReaperTargets, a.ListReaperTargets},
		{contract.StartCleanup, a.StartCleanup},
		{contract.ReconcileTasks, a.ReconcileTasks},
		{contract.AdmitTasks, a.AdmitTasks},
		{contract.PauseIdleReaper, a.PauseIdleReaper},
		{contract.BeginGuardianCycle, guardian.Begin},
		{contract.AnalyzeAgents, guardian.Analyze},
		{contract.EndGuardianCycle, guardian.End},
		{contract.BeginConductorCycle, conductor.Begin},
		{contract.AnalyzeOrganizations, conductor.Analyze},
		{contract.EndConductorCycle, conductor.End},
		{contract.BeginRetention, a.BeginRetention},
		{contract.RemoveExpired, a.RemoveExpired},
	}
}

// sandboxList is every activity that works on a sandbox, through its provider. Those of
// sandboxes without a machine run on the shared queue.
func sandboxList(a *activities.Activities) []named {
	return []named{
		{contract.EnsureSandbox, a.EnsureSandbox},
		{contract.StartAgent, a.StartAgent},
		{contract.StopAgent, a.StopAgent},
		{contract.CheckAgent, a.CheckAgent},
		{contract.CollectWork, a.CollectWork},
		{contract.RepeatTests, a.RepeatTests},
		{contract.Salvage, a.Salvage},
		{contract.FlushSpool, a.FlushSpool},
		{contract.DeleteSandbox, a.DeleteSandbox},
		{contract.VerifyDeleted, a.VerifyDeleted},
		{contract.FindOrphans, a.FindOrphans},
	}
}

// registerTasks fills the worker of the shared queue.
func registerTasks(r registry, a *activities.Activities) {
	for _, w := range workflowList() {
		r.RegisterWorkflowWithOptions(w.fn, workflow.RegisterOptions{Name: w.name})
	}
	registerActivities(r, quickList(a))
	registerActivities(r, sandboxList(a))
}

// relayList is the pull relay, which has a queue of its own since it lasts.
func relayList(a *activities.Activities) []named {
	return []named{{contract.RelaySandbox, a.RelaySandbox}}
}

func registerActivities(r registry, list []named) {
	for _, one := range list {
		r.RegisterActivityWithOptions(one.fn, activity.RegisterOptions{Name: one.name})
	}
}
