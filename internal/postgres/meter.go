package postgres

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

const meterPage = 20 // sandboxes whose reports are read together

func meterTask(ctx context.Context, q *db.Queries, organizationID, taskID string) error {
	ids, err := q.UnmeteredOfTask(ctx, &organizationID, &taskID)
	return meter(ctx, q, ids, err)
}

func meterProject(ctx context.Context, q *db.Queries, projectID string) error {
	ids, err := q.UnmeteredOfProject(ctx, projectID)
	return meter(ctx, q, ids, err)
}

// meter adds up what new events of sandboxes report of their use of models. err is that of finding them.
func meter(ctx context.Context, q *db.Queries, ids []string, err error) error {
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, meterPage) {
		rows, err := q.ReportedUsage(ctx, event.Types(event.Usage), part)
		if err != nil {
			return err
		}
		for len(rows) > 0 {
			end := slices.IndexFunc(rows, func(r db.ReportedUsageRow) bool { return r.ID != rows[0].ID })
			if end < 0 {
				end = len(rows)
			}
			if err := meterOne(ctx, q, rows[:end]); err != nil {
				return err
			}
			rows = rows[end:]
		}
	}
	return nil
}

// meterOne takes the rows of one sandbox.
func meterOne(ctx context.Context, q *db.Queries, rows []db.ReportedUsageRow) error {
	box := rows[0]
	sum := event.Metered{
		CostUSD: box.CostUsd, InputTokens: float64(box.InputTokens), OutputTokens: float64(box.OutputTokens), CostUnknown: box.CostUnknown,
	}
	for _, row := range rows {
		var report event.UsageReport
		if err := json.Unmarshal(row.Report, &report); err != nil {
			return err
		}
		sum.Add(row.EventType, report)
	}
	return q.Meter(ctx, db.MeterParams{
		Until: box.LastSequence, CostUsd: sum.CostUSD, InputTokens: int64(math.Round(sum.InputTokens)), OutputTokens: int64(math.Round(sum.OutputTokens)),
		CostUnknown: sum.CostUnknown, ID: box.ID, Metered: box.Metered,
	})
}
