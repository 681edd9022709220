package guardian_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// eventReader reads the events of an analysis.
type eventReader interface {
	EventsAfter(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.StoredEvent, error)
}

// again repeats a stored analysis with the same events, time and settings, which proves that the stored inputs suffice. m may
// be another model; nil: analysis by rules only.
func again(ctx context.Context, events eventReader, j guardian.Analysis, m supervise.Model) (supervise.Analysis, error) {
	var subject supervise.Subject
	var rules supervise.Settings
	if err := json.Unmarshal(j.Subject, &subject); err != nil {
		return supervise.Analysis{}, fmt.Errorf("read the subject of judgement %s: %w", j.ID, err)
	}
	if err := json.Unmarshal(j.Rules, &rules); err != nil { //nolint:musttag // written by this package, under the names of the fields
		return supervise.Analysis{}, fmt.Errorf("read the rules of judgement %s: %w", j.ID, err)
	}
	rows, err := stretch(ctx, events, j)
	if err != nil {
		return supervise.Analysis{}, err
	}
	subject.Read(rows, j.JudgedAt)
	return supervise.Analyze(ctx, subject, rules, m), nil
}

// stretch reads the events of an analysis, with only the newest of the heartbeats.
func stretch(ctx context.Context, events eventReader, j guardian.Analysis) ([]event.Event, error) {
	var rows []event.Event
	for after := j.FirstSeen - 1; after < j.LastSeen; {
		page, err := events.EventsAfter(ctx, j.SandboxID, after, int(j.LastSeen-after))
		if err != nil {
			return nil, fmt.Errorf("read the events of judgement %s: %w", j.ID, err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			rows = append(rows, event.Event{SandboxID: j.SandboxID, Sequence: e.Sequence, Type: e.Type, Data: e.Data, CreatedAt: e.CreatedAt})
		}
		after = page[len(page)-1].Sequence
	}
	return withoutOldBeats(rows), nil
}

func withoutOldBeats(rows []event.Event) []event.Event {
	beat := func(e event.Event) bool { return event.ClassOf(e.Type) == event.ClassHeartbeat }
	newest := int64(0)
	for _, e := range rows {
		if beat(e) {
			newest = e.Sequence
		}
	}
	return slices.DeleteFunc(rows, func(e event.Event) bool { return beat(e) && e.Sequence != newest })
}
