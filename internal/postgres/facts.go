package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/digest"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxFacts is the maximum number of events of one digest; more events become another gap.
const maxFacts = 5000

// LoadEvents returns the digest of a sandbox's events after in.After, as the relay would send it. The texts of errors
// are stored first.
func (s *Store) LoadEvents(ctx context.Context, in contract.LoadEventsInput) (contract.Digest, error) {
	built, taskID, err := s.buildFacts(ctx, in)
	if err != nil {
		return contract.Digest{}, translate("read events of sandbox "+in.SandboxID, err)
	}
	// after the events, because a validator sends its verdict before it ends
	if built.Digest.VerdictDue, err = s.q.VerdictDue(ctx, in.SandboxID); err != nil {
		return contract.Digest{}, translate("read the verdict of sandbox "+in.SandboxID, err)
	}
	return built.Digest, s.SaveErrors(ctx, taskID, built.Errors)
}

func (s *Store) buildFacts(ctx context.Context, in contract.LoadEventsInput) (digest.Built, string, error) {
	box, err := s.q.FactsHead(ctx, in.SandboxID)
	if err != nil {
		return digest.Built{}, "", err
	}
	types, err := s.countBefore(ctx, in, box)
	if err != nil {
		return digest.Built{}, "", err
	}
	rows, err := s.q.Facts(ctx, db.FactsParams{
		Milestones: event.Types(event.Milestone), PartitionMonth: box.PartitionMonth, SandboxID: in.SandboxID, After: in.After, Until: box.LastSequence, Most: maxFacts,
	})
	if err != nil {
		return digest.Built{}, "", err
	}
	events := mapAll(rows, func(r db.FactsRow) digest.Row {
		return digest.Row{Sequence: r.Sequence, Type: r.EventType, Data: r.EventData, At: r.CreatedAt}
	})
	return digest.Build(in.SandboxID, in.After+1, types, events), task.Deref(box.TaskID), nil
}

// countBefore counts the events up to in.After by type. The counters of the relay are used if they end there.
func (s *Store) countBefore(ctx context.Context, in contract.LoadEventsInput, box db.FactsHeadRow) (map[string]int64, error) {
	types := make(map[string]int64)
	if in.After == box.Relayed {
		if err := json.Unmarshal(box.Counters, &types); err != nil {
			return nil, fmt.Errorf("read counters: %w", err)
		}
		return types, nil
	}
	rows, err := s.q.CountTypes(ctx, db.CountTypesParams{PartitionMonth: box.PartitionMonth, SandboxID: in.SandboxID, Until: in.After})
	for _, r := range rows {
		types[r.EventType] = r.Events
	}
	return types, err
}

// Work returns the task for Git and the agent, with the feedback for its newest attempt. [task.CodeNotFound] if the
// task does not exist.
func (s *Store) Work(ctx context.Context, taskID string) (task.Work, error) {
	row, err := s.q.Work(ctx, taskID)
	if err != nil {
		return task.Work{}, translate("read task "+taskID, err)
	}
	t := row.Task
	work := task.Work{
		TaskID: t.ID, Key: t.Key, TicketID: t.TicketID, ProjectID: t.ProjectID, OrganizationID: t.OrganizationID, UserID: task.Deref(t.UserID),
		Suspended: t.BlockedReason == string(task.BlockedSuspended), Title: titleOf(t), Description: t.Description, TaskType: t.TaskType, PhaseID: t.PhaseID, Priority: t.Priority,
		Mode: t.Mode, Agent: t.Agent, Provider: t.Provider, Continuous: t.Continuous,
		TicketTitle: row.TicketTitle, TicketDescription: row.TicketDescription, TicketType: row.TicketType,
		Repo: row.Repo, DefaultBranch: row.DefaultBranch,
		Branch: task.Deref(t.BranchName), Base: task.Deref(t.BaseCommit), EarlierBranches: t.EarlierBranches, ForkedFrom: forkedFrom(t.ForkedFrom), PullURL: task.Deref(t.PullRequestUrl), Feedback: row.Feedback,
		Credential: row.Credential, Takeover: takeover(row.Takeover), Attempt: t.AttemptCount, Setup: row.Setup, ModelPrices: row.ModelPrices, CommitLeftovers: row.CommitLeftovers, RepeatTests: row.RepeatTests,
		TestTimeout: time.Duration(row.TestTimeoutS * float64(time.Second)), SetupTimeout: time.Duration(row.SetupTimeoutS) * time.Second,
	}
	if err := json.Unmarshal(t.ExecutionConfig, &work.Execution); err != nil {
		return task.Work{}, task.Invalid("execution_config", "The task's execution_config cannot be read: %s.", err)
	}
	work.Compared = candidate.Is(t.ExecutionConfig)
	if err := agreed(&work, row); err != nil {
		return task.Work{}, translate("read the contract of task "+taskID, err)
	}
	work.Unreadable = s.openForAgent(t.OrganizationID, work.Execution.Env)
	return work, translate("read the attempts of task "+taskID, s.forAttempt(ctx, &work, row))
}

// SaveBranch stores the branch of a task and its base commit before the first attempt needs them. Values that exist
// stay.
func (s *Store) SaveBranch(ctx context.Context, taskID, branch, base string) error {
	_, err := s.pool.Exec(ctx, `UPDATE tasks SET branch_name = coalesce(nullif(branch_name, ''), $2),
		base_commit = coalesce(nullif(base_commit, ''), $3), updated_at = now() WHERE id = $1`, taskID, branch, base)
	return translate("record the branch of task "+taskID, err)
}

// MoveBranch gives a task another branch, which has no pull request yet. It changes nothing if the task has branch
// already. [task.CodeConflict] if the task has a third branch.
func (s *Store) MoveBranch(ctx context.Context, taskID, was, branch string) error {
	rows, err := s.q.MoveBranch(ctx, db.MoveBranchParams{Was: was, Branch: branch, ID: taskID})
	if err == nil && rows == 0 {
		return task.Errorf(task.CodeConflict, "The branch of task %s is no longer %s.", taskID, was)
	}
	return translate("change the branch of task "+taskID, err)
}

// EmptyRun reports whether the newest agent.completed of a sandbox has an account of the run without text, and no other
// event shows an act of the agent.
func (s *Store) EmptyRun(ctx context.Context, sandboxID string) (bool, error) {
	rows, err := s.q.Decisive(ctx, sandboxID, []string{event.AgentCompleted})
	if err != nil || len(rows) == 0 {
		return false, translate("read the completion of sandbox "+sandboxID, err)
	}
	end := event.Read[event.End](rows[0].EventData)
	if end.Turns == "" || strings.TrimSpace(string(end.Output)) != "" {
		return false, nil
	}
	acted, err := s.q.Acted(ctx, sandboxID, event.Idle())
	return !acted, translate("read the acts of sandbox "+sandboxID, err)
}
