package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

// prices returns the configured prices as a JSON object for SQL.
func (c Config) prices() json.RawMessage { return objectOr(jsonOf(c.Prices)) }

// costOf returns the cost of a sandbox; nil if its provider had no price.
func costOf(row db.Sandbox, seconds float64) *task.Money {
	if row.PricePerSecond == nil || row.PriceCurrency == nil {
		return nil
	}
	return &task.Money{Amount: *row.PricePerSecond * max(seconds, 0), Currency: *row.PriceCurrency}
}

// Receipt returns the deletion receipt of a task's sandboxes.
func (s *Store) Receipt(ctx context.Context, organizationID, taskID string) (receipt.DeletionReceipt, error) {
	t, err := s.Task(ctx, organizationID, taskID)
	if err != nil {
		return receipt.DeletionReceipt{}, err
	}
	rows, err := s.q.ReceiptSandboxes(ctx, &taskID)
	if err != nil {
		return receipt.DeletionReceipt{}, translate("read the sandboxes of task "+taskID, err)
	}
	visits, err := s.q.VisitsOfTask(ctx, &taskID)
	if err != nil {
		return receipt.DeletionReceipt{}, translate("read the access sessions of task "+taskID, err)
	}
	boxes := mapAll(rows, func(r db.ReceiptSandboxesRow) task.Sandbox {
		return keyed(sandboxRecord(r.Sandbox, r.SecondsAlive), t.Key)
	})
	r := receipt.New(t, boxes, mapAll(visits, visitRecord))
	r.LookAgain(s.cfg.SecondLook)
	return r, nil
}

func visitRecord(v db.AccessSession) receipt.AccessSession {
	return receipt.AccessSession{
		ID: v.ID, SandboxID: v.SandboxID, User: v.Visitor, Kind: v.Kind, Summary: v.What,
		StartedAt: v.BeganAt, EndedAt: v.EndedAt, Outcome: v.Outcome,
	}
}
