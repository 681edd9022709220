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

// LedgerSandbox is a row of the ledger; [task.CodeNotFound] if there is none.
func (s *Store) LedgerSandbox(ctx context.Context, sandboxID string) (task.Sandbox, error) {
	row, err := s.q.LedgerSandbox(ctx, sandboxID)
	if err != nil {
		return task.Sandbox{}, translate("read sandbox "+sandboxID, err)
	}
	return sandboxRecord(row.Sandbox, row.SecondsAlive), nil
}

// SandboxCreating notes that the sandbox is being made, and how its agent will report.
// [task.CodeGone] if it has been made already and is on its way out, so that it is not made again.
func (s *Store) SandboxCreating(ctx context.Context, sandboxID, transport string) error {
	rows, err := s.q.SandboxCreating(ctx, transport, sandboxID)
	return s.forward(ctx, "note that sandbox "+sandboxID+" is being made", sandboxID, rows, err)
}

// SandboxRunning notes what the provider made. [task.CodeGone] if it is on its way out.
func (s *Store) SandboxRunning(ctx context.Context, sandboxID string, made sandbox.Sandbox) error {
	rows, err := s.q.SandboxRunning(ctx, db.SandboxRunningParams{
		ID: sandboxID, ProviderID: made.ProviderID, Isolation: orEmpty(made.Isolation), Adopted: made.Adopted, Prices: s.cfg.prices(),
		CreatedAt: timeOr(made.CreatedAt),
	})
	return s.forward(ctx, "note that sandbox "+sandboxID+" runs", sandboxID, rows, err)
}

// SandboxSeen notes that a look found the sandbox, whoever made it, and since when it is there; the
// zero time if its provider does not say. What was seen to be gone before is not gone after all.
func (s *Store) SandboxSeen(ctx context.Context, sandboxID, providerID string, since time.Time) error {
	err := s.q.SandboxSeen(ctx, db.SandboxSeenParams{
		ID: sandboxID, ProviderID: providerID, CreatedAt: timeOr(since), Prices: s.cfg.prices(),
	})
	return translate("note that sandbox "+sandboxID+" is there", err)
}

// unread reports whether a sandbox is gone, and what its agent said last with it: it could not be
// sent, or was to be read and was not read to its end.
func unread(row db.Sandbox) bool {
	over := row.GoneAt != nil || task.SandboxState(row.State) == task.SandboxLost
	unread := row.Transport == task.TransportPull && row.StartedAt != nil && row.ReadAt == nil
	return over && (unread || row.Unsent)
}

// forward judges a step of the ledger that changed nothing: the row runs already, is at its
// end, or is not there.
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

// AgentStarted notes that the agent was started, the first time only.
func (s *Store) AgentStarted(ctx context.Context, sandboxID string) error {
	return translate("note that the agent in "+sandboxID+" started", oneRow(s.q.AgentStarted(ctx, sandboxID)))
}

// RecordSandboxState moves the row towards its end and never back. What is no machine of ours is
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
	return translate("count what was used in sandbox "+in.SandboxID, meter(ctx, s.q, []string{in.SandboxID}, nil)) // its agent may have spoken after its attempt
}

// SandboxUnmade ends the row of a sandbox whose making never began, and reports whether it did:
// one that may exist is left alone.
func (s *Store) SandboxUnmade(ctx context.Context, sandboxID string) (bool, error) {
	rows, err := s.q.SandboxUnmade(ctx, sandboxID)
	return rows > 0, translate("end the row of sandbox "+sandboxID, err)
}

// SaveSalvage notes what became of uncommitted work.
func (s *Store) SaveSalvage(ctx context.Context, sandboxID string, salvage task.Salvage) error {
	return translate("save salvage of sandbox "+sandboxID, oneRow(s.q.SaveSalvage(ctx, jsonOf(salvage), sandboxID)))
}

// SaveHead notes the commit at which an attempt's work was collected.
func (s *Store) SaveHead(ctx context.Context, taskID string, attempt int, commit string) error {
	rows, err := s.q.SaveHead(ctx, db.SaveHeadParams{
		HeadCommit: orNull(commit), TaskID: taskID, Number: attempt,
	})
	return translate("save the head of task "+taskID, oneRow(rows, err))
}

// MarkReappeared records that a sandbox exists again after its deletion was verified; since is the zero time if its provider does not
// say. It has to be deleted, and its deletion verified, as if it had never been deleted.
func (s *Store) MarkReappeared(ctx context.Context, sandboxID, providerID string, since time.Time) error {
	err := s.q.MarkReappeared(ctx, db.MarkReappearedParams{
		ID: sandboxID, ProviderID: providerID, CreatedAt: timeOr(since), Prices: s.cfg.prices(),
	})
	return translate("note that sandbox "+sandboxID+" is there again", err)
}

// CountReappeared counts the sandboxes that reappeared after their deletion was verified, and exist since; id is one of them.
func (s *Store) CountReappeared(ctx context.Context) (n int, id string, err error) {
	row, err := s.q.CountReappeared(ctx)
	return int(row.Again), row.ID, translate("count sandboxes that are there again", err)
}

// TokenLives is [task.CodeGone] an hour after the sandbox was verified gone: then its token
// opens nothing any more. Of a sandbox that nobody knows it says nothing.
func (s *Store) TokenLives(ctx context.Context, sandboxID string) error {
	over, _, err := maybe(s.q.TokenOver(ctx, sandboxID))
	if over {
		return task.Errorf(task.CodeGone, "Sandbox %s is deleted, and its token is no longer valid.", sandboxID).WithKind(task.KindSandboxDeleted)
	}
	return translate("look whether the token of sandbox "+sandboxID+" lives", err)
}
