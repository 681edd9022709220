package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Life is the store as activities see it: tasks, ledger and fleet. It differs from [Store]
// in two names that mean something else to the API.
type Life struct{ *Store }

// Life is the store as activities see it.
func (s *Store) Life() Life { return Life{s} }

// Project is [Store.ProjectTask].
func (l Life) Project(
	ctx context.Context, p contract.Projection, runID string, current func(context.Context) (bool, error),
) (contract.Projected, error) {
	return l.ProjectTask(ctx, p, runID, current)
}

// Sandbox is [Store.LedgerSandbox].
func (l Life) Sandbox(ctx context.Context, sandboxID string) (task.Sandbox, error) {
	return l.LedgerSandbox(ctx, sandboxID)
}
