package postgres

import (
	"cmp"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
)

func briefRecord(r db.ReadTasksRow) task.Task {
	return taskRecord(db.ReadTaskRow{
		Task: db.Task(r.TaskBrief), Repo: r.Repo, HoldsSlot: r.HoldsSlot, WaitingFor: r.WaitingFor, DependsOn: r.DependsOn,
		AgentWaits: r.AgentWaits,
	})
}

func taskRecord(r db.ReadTaskRow) task.Task {
	row := r.Task
	t := task.Task{
		ID: row.ID, Key: row.Key, OrganizationID: row.OrganizationID, ProjectID: row.ProjectID, TicketID: row.TicketID, UserID: task.Deref(row.UserID), Repo: r.Repo,
		Title: row.Title, Description: row.Description, TaskType: row.TaskType, PhaseID: row.PhaseID, Priority: row.Priority,
		Mode: row.Mode, Agent: row.Agent, Provider: row.Provider, Continuous: row.Continuous, MaxRetries: row.MaxRetries,
		Execution: redact.Execution(row.ExecutionConfig), DependsOn: task.DependsOn{TaskIDs: r.DependsOn},
		SandboxID: row.SandboxID, AssignedAgent: row.AssignedAgentID, Branch: row.BranchName, Base: row.BaseCommit,
		Earlier: row.EarlierBranches, ForkedFrom: forkedFrom(row.ForkedFrom), Continues: r.Continues, ContinuedBy: r.ContinuedBy,
		PullURL: row.PullRequestUrl, PullNumber: row.PullRequestNumber, HoldsSlot: r.HoldsSlot, WaitingFor: task.ParseReason(r.WaitingFor),
		QueuePosition: row.QueuePosition, QueueReason: task.ParseReason(string(row.QueueReason)), QueuedAt: row.QueuedAt, Score: row.Score, Loaded: row.FirstRunID != "",
		Rounds: row.ValidationRounds, Attempts: []task.Attempt{}, Reviews: []task.Validation{}, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, AssignedAt: row.AssignedAt,
		StartedAt: row.StartedAt, CompletedAt: row.CompletedAt, DeadlineAt: row.DeadlineAt,
	}
	if json.Unmarshal(row.Budget, &t.Budget) != nil {
		t.Budget = task.Budget{} // cannot happen: omoi wrote the value; an empty budget is no limit
	}
	t.Group = groupOf(row.Status, row.BlockedReason, r.AgentWaits)
	return withOutcome(t, row)
}

// forkedFrom returns what a fork began with; nil: the task is not a fork.
func forkedFrom(stored json.RawMessage) (from *task.ForkedFrom) {
	_ = json.Unmarshal(stored, &from) // omoi wrote the value; null stays nil
	return from
}

// withOutcome adds the fields that the workflow writes.
func withOutcome(t task.Task, row db.Task) task.Task {
	t.Status, t.Blocked = task.Status(row.Status), task.BlockedReason(row.BlockedReason)
	t.Result, t.ErrorMessage, t.FailureClass = orJSONNull(row.Result), row.ErrorMessage, task.FailureClass(row.FailureClass)
	t.EndReason = task.ParseReason(string(row.EndReason))
	t.Retries, t.Revisions = row.RetryCount, row.RevisionCount
	t.Replacements, t.AttemptCount = row.ReplacementCount, row.AttemptCount
	return t
}

func attemptRecord(r db.ReadAttemptsRow) task.Attempt {
	a, s := r.Attempt, r.Sandbox
	return task.Attempt{
		Number: a.Number, SandboxID: a.SandboxID, Kind: a.Kind, RestoredFrom: cmp.Or(r.RestoredFrom, a.RestoreFrom), StartedAt: a.StartedAt, AssignedAt: a.AssignedAt,
		EndedAt: a.EndedAt, Outcome: a.Outcome, FailureClass: task.FailureClass(a.FailureClass), Reason: a.Reason, EndReason: task.ParseReason(string(a.EndReason)),
		StopReason: a.StopReason, HeadCommit: a.HeadCommit, CostUSD: cost.Known(s.CostUsd, s.CostUnknown), CostUnknown: s.CostUnknown, InputTokens: s.InputTokens,
		OutputTokens: s.OutputTokens, Events: s.LastSequence, Salvage: salvageRecord(s.Salvage),
		SandboxState: task.SandboxState(s.State), VerifiedAt: s.VerifiedAt, Takeover: takeover(a.Takeover), TestRepeat: testRepeat(a.TestRepeat, a.Number),
	}
}

// takeover returns the stored takeover of an attempt; nil if there is none.
func takeover(stored json.RawMessage) (t *task.Takeover) {
	_ = json.Unmarshal(stored, &t) // omoi wrote the value; null stays nil
	return t
}

func sandboxRecord(row db.Sandbox, seconds float64) task.Sandbox {
	return task.Sandbox{
		ID: row.ID, Provider: row.Provider, ProviderID: task.Deref(row.ProviderID), HostID: task.Deref(row.HostID),
		TaskID: task.Deref(row.TaskID), Attempt: task.Deref(row.Attempt), State: task.SandboxState(row.State),
		Isolation: orEmpty(row.Isolation), CreatedAt: row.CreatedAt, ProviderCreatedAt: row.MadeAt, Cost: costOf(row, seconds), AdoptedAt: row.AdoptedAt, StartedAt: row.StartedAt,
		EndedAt: row.EndedAt, DeletedAt: row.DeletedAt, GoneAt: row.GoneAt, VerifiedAt: row.VerifiedAt,
		SecondsAlive: seconds, CostUSD: cost.Known(row.CostUsd, row.CostUnknown), CostUnknown: row.CostUnknown, Salvage: salvageRecord(row.Salvage), Head: row.LastSequence,
		Labels: row.Labels, Transport: row.Transport, EventsIncomplete: unread(row),
	}
}

// keyed returns a sandbox with the key of its task.
func keyed(b task.Sandbox, taskKey string) task.Sandbox {
	b.TaskKey = taskKey
	return b
}

func commandRecord(row db.Command) task.Command {
	c := task.Command{
		ID: row.ID, TaskID: row.TaskID, Kind: row.Kind, State: task.Receipt(row.State), Reason: row.Reason,
		Sender: row.Sender, CreatedAt: row.CreatedAt, SentAt: row.SentAt, SettledAt: row.SettledAt,
	}
	if c.Reason == "" {
		c.Reason = reasonOf(row.Kind, readObject(row.Args))
	}
	return c
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func orJSONNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
