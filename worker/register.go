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
		{contract.TailWorkflow, workflows.SandboxTailWorkflow},
		{contract.GuardianWorkflow, workflows.GuardianWorkflow},
		{contract.ConductorWorkflow, workflows.ConductorWorkflow},
		{contract.RetentionWorkflow, workflows.RetentionWorkflow},
	}
}

// quickList is every activity that works on store, git and Temporal alone.
func quickList(a *activities.Activities) []named {
	return []named{
		{contract.LoadTask, a.LoadTask},
		{contract.Project, a.Project},
		{contract.BeginAttempt, a.BeginAttempt},
		{contract.TakeCommand, a.TakeCommand},
		{contract.ReadFacts, a.ReadFacts},
		{contract.EnsureBranch, a.EnsureBranch},
		{contract.PromoteWork, a.PromoteWork},
		{contract.OpenPull, a.OpenPull},
		{contract.LoadSandbox, a.LoadSandbox},
		{contract.SettleSandbox, a.SettleSandbox},
		{contract.ReaperTargets, a.ReaperTargets},
		{contract.StartCleanup, a.StartCleanup},
		{contract.RepairTasks, a.RepairTasks},
		{contract.RunGate, a.RunGate},
		{contract.RestReaper, a.RestReaper},
		{contract.BeginCycle, a.BeginCycle},
		{contract.JudgeSandboxes, a.JudgeSandboxes},
		{contract.EndCycle, a.EndCycle},
		{contract.BeginConducting, a.BeginConducting},
		{contract.ConductFleets, a.ConductFleets},
		{contract.EndConducting, a.EndConducting},
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
		{contract.Observe, a.Observe},
		{contract.CollectWork, a.CollectWork},
		{contract.Salvage, a.Salvage},
		{contract.DrainSpool, a.DrainSpool},
		{contract.DeleteSandbox, a.DeleteSandbox},
		{contract.VerifyGone, a.VerifyGone},
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

// registerSandboxes fills a worker of sandbox work.
func registerSandboxes(r registry, a *activities.Activities) {
	registerActivities(r, sandboxList(a))
}

// registerTails fills a worker of the tails of sandboxes, which are kept apart since they last.
func registerTails(r registry, a *activities.Activities) {
	registerActivities(r, []named{{contract.TailSandbox, a.TailSandbox}})
}

func registerActivities(r registry, list []named) {
	for _, one := range list {
		r.RegisterActivityWithOptions(one.fn, activity.RegisterOptions{Name: one.name})
	}
}
