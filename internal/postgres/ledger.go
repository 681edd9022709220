package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// LedgerSandbox returns a row of the sandbox ledger; [task.CodeNotFound] if there is none.
func (s *Store) LedgerSandbox(ctx context.Context, sandboxID string) (task.Sandbox, error) {
	row, err := s.q.LedgerSandbox(ctx, sandboxID)
	if err != nil {
		return task.Sandbox{}, translate("read sandbox "+sandboxID, err)
	}
	return sandboxRecord(row.Sandbox, row.SecondsAlive), nil
}

// SandboxCreating records that the sandbox is being created, and its transport. [task.CodeGone] if its deletion has
// begun, so that it is not created again.
func (s *Store) SandboxCreating(ctx context.Context, sandboxID, transport string) error {
	rows, err := s.q.SandboxCreating(ctx, transport, sandboxID)
	return s.forward(ctx, "record that sandbox "+sandboxID+" is being made", sandboxID, rows, err)
}

// SandboxPlaced records the provider ID of a sandbox that is still to be created, unless one is recorded.
func (s *Store) SandboxPlaced(ctx context.Context, sandboxID, providerID string) error {
	rows, err := s.q.SandboxPlaced(ctx, providerID, sandboxID)
	return s.forward(ctx, "record the place of sandbox "+sandboxID, sandboxID, rows, err)
}

// SandboxRunning records the sandbox that the provider created. [task.CodeGone] if its deletion has begun.
func (s *Store) SandboxRunning(ctx context.Context, sandboxID string, made sandbox.Sandbox) error {
	rows, err := s.q.SandboxRunning(ctx, db.SandboxRunningParams{
		ID: sandboxID, ProviderID: made.ProviderID, Isolation: orEmpty(made.Isolation), Adopted: made.Adopted, Prices: s.cfg.prices(),
		CreatedAt: timeOr(made.CreatedAt),
	})
	return s.forward(ctx, "record that sandbox "+sandboxID+" runs", sandboxID, rows, err)
}

// SandboxSeen records that a sandbox exists, and since when; zero if the provider does not say. A recorded absence is
// cleared.
func (s *Store) SandboxSeen(ctx context.Context, sandboxID, providerID string, since time.Time) error {
	err := s.q.SandboxSeen(ctx, db.SandboxSeenParams{
		ID: sandboxID, ProviderID: providerID, CreatedAt: timeOr(since), Prices: s.cfg.prices(),
	})
	return translate("record that sandbox "+sandboxID+" exists", err)
}

// unread reports whether a sandbox is deleted or lost before all its events were sent or read.
func unread(row db.Sandbox) bool {
	over := row.GoneAt != nil || task.SandboxState(row.State) == task.SandboxLost
	unread := row.Transport == task.TransportPull && row.StartedAt != nil && row.ReadAt == nil
	return over && (unread || row.Unsent)
}

// forward handles an update of the ledger without rows: the sandbox runs already, its deletion has begun, or the row
// does not exist.
func (s *Store) forward(ctx context.Context, doing, sandboxID string, rows int64, err error) error {
	if err != nil || rows > 0 {
		return translate(doing, err)
	}
	row, err := s.q.LedgerSandbox(ctx, sandboxID)
	if err != nil {
		return translate(doing, err)
	}
	if task.SandboxState(row.Sandbox.State) == task.SandboxRunning {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, task.Errorf(task.CodeGone, "Sandbox %s is already %s.", sandboxID, row.Sandbox.State))
}

// AgentStarted records the first start of the agent.
func (s *Store) AgentStarted(ctx context.Context, sandboxID string) error {
	return translate("record that the agent in "+sandboxID+" started", oneRow(s.q.AgentStarted(ctx, sandboxID)))
}

// RecordSandboxState moves the state of a sandbox forward, never back. Sandboxes of providers without machines are
// never verified.
func (s *Store) RecordSandboxState(ctx context.Context, in contract.RecordSandboxStateInput) error {
	steps := map[string]func(context.Context, string) (int64, error){
		"deleting": s.q.SandboxDeleting, "gone": s.q.SandboxGone, "verified": s.q.SandboxVerified,
		"lost": s.q.SandboxLost, "salvage_lost": s.q.SalvageLost, "read": s.q.SpoolRead, "unsent": s.q.SpoolUnsent,
	}
	step, ok := steps[in.Event]
	if !ok {
		return task.Invalid("event", "Unknown sandbox event %q.", in.Event)
	}
	if err := oneRow(step(ctx, in.SandboxID)); err != nil {
		return translate("settle sandbox "+in.SandboxID+" as "+in.Event, err)
	}
	if in.Event == "verified" {
		s.cfg.Log.InfoContext(ctx, "sandbox deleted", slog.String("sandbox_id", in.SandboxID))
	}
	// the agent may have reported usage after its attempt
	return translate("update the usage of sandbox "+in.SandboxID, meter(ctx, s.q, []string{in.SandboxID}, nil))
}

// SandboxUnmade ends the row of a sandbox that was never created, and reports whether it did. A sandbox that may exist
// stays unchanged.
func (s *Store) SandboxUnmade(ctx context.Context, sandboxID string) (bool, error) {
	rows, err := s.q.SandboxUnmade(ctx, sandboxID)
	return rows > 0, translate("end the row of sandbox "+sandboxID, err)
}

// SaveSalvage records what happened to uncommitted work.
func (s *Store) SaveSalvage(ctx context.Context, sandboxID string, salvage task.Salvage) error {
	return translate("save salvage of sandbox "+sandboxID, oneRow(s.q.SaveSalvage(ctx, jsonOf(salvage), sandboxID)))
}

// SaveHead records the commit at which the work of an attempt was collected.
func (s *Store) SaveHead(ctx context.Context, taskID string, attempt int, commit string) error {
	rows, err := s.q.SaveHead(ctx, db.SaveHeadParams{
		HeadCommit: orNull(commit), TaskID: taskID, Number: attempt,
	})
	return translate("save the head commit of task "+taskID, oneRow(rows, err))
}

// SaveBranchCommit records the commit of the branch that a sandbox got.
func (s *Store) SaveBranchCommit(ctx context.Context, sandboxID, commit string) error {
	return translate("save the branch of sandbox "+sandboxID, s.q.SaveBranchCommit(ctx, commit, sandboxID))
}

// MarkReappeared records that a sandbox exists again after its deletion was verified. since is zero if the provider
// does not say. The sandbox must be deleted and verified again.
func (s *Store) MarkReappeared(ctx context.Context, sandboxID, providerID string, since time.Time) error {
	err := s.q.MarkReappeared(ctx, db.MarkReappearedParams{
		ID: sandboxID, ProviderID: providerID, CreatedAt: timeOr(since), Prices: s.cfg.prices(),
	})
	return translate("record that sandbox "+sandboxID+" exists again", err)
}

// CountReappeared counts the sandboxes that exist again after their deletion was verified; id is one of them.
func (s *Store) CountReappeared(ctx context.Context) (n int, id string, err error) {
	row, err := s.q.CountReappeared(ctx)
	return int(row.Again), row.ID, translate("count reappeared sandboxes", err)
}

// TokenLives returns [task.CodeGone] from one hour after the deletion of the sandbox was verified: its token is then
// invalid. For an unknown sandbox TokenLives returns nil.
func (s *Store) TokenLives(ctx context.Context, sandboxID string) error {
	over, _, err := maybe(s.q.TokenOver(ctx, sandboxID))
	if over {
		return task.Errorf(task.CodeGone, "Sandbox %s is deleted, and its token is no longer valid.", sandboxID).WithKind(task.KindSandboxDeleted)
	}
	return translate("check the token of sandbox "+sandboxID, err)
}
