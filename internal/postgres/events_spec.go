package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/spec"
)

const (
	mostCriteria  = 500       // stored criteria of a progress row; the bus reports all
	longestOutput = 256 << 10 // bytes of a phase's output in a progress row; for longer ones the row names the event
	longestSpecID = 200
)

// specEvent is an event that can update a progress row. Values of unexpected types are ignored.
type specEvent struct {
	q    *db.Queries
	plan *eventPlan
	row  eventRow
	said object
}

// queueSpec updates the progress rows of spec runs, in the order of the events.
func (p *eventPlan) queueSpec(ctx context.Context, q *db.Queries) {
	for _, row := range p.rows {
		if row.sandbox.ended || !event.Is(row.event.Type, event.Spec) && !event.Is(row.event.Type, event.Completion) {
			continue
		}
		e := specEvent{q: q, plan: p, row: row, said: object{}}
		for _, part := range row.event.Parts() {
			_ = json.Unmarshal(part, &e.said) // the database rejects data that is not an object
		}
		e.queue(ctx)
	}
}

func (e specEvent) queue(ctx context.Context) {
	phase := e.said.text("phase")
	known := slices.Contains(spec.Phases(), phase)
	box, at := e.row.sandbox.id, timeOr(e.plan.now)
	switch e.row.event.Type {
	case event.SpecPhaseStarted:
		if known {
			e.ensure(ctx)
			_ = e.q.SpecPhaseStarted(ctx, db.SpecPhaseStartedParams{
				SandboxID: box, Phase: phase, At: at, Effective: e.effective(), Progress: spec.PhaseBegins(phase),
			})
		}
	case event.SpecPhaseCompleted:
		if known {
			e.ensure(ctx)
			_ = e.q.SpecPhaseCompleted(ctx, db.SpecPhaseCompletedParams{SandboxID: box, Phase: phase, At: at})
			e.merge(ctx, object{phase: e.said["phase_output"]})
		}
	case event.SpecExecutionCompleted, event.SpecExecutionFailed:
		e.ensure(ctx)
		_ = e.q.SpecExecutionEnded(ctx, db.SpecExecutionEndedParams{
			SandboxID: box, Completed: e.row.event.Type == event.SpecExecutionCompleted, At: at, Effective: e.effective(),
		})
	case event.SpecCriterionMet:
		e.criterion(ctx)
	case event.AgentCompleted, event.ContinuousCompleted:
		e.runEnded(ctx)
	}
}

// effective reports whether the event belongs to a spec run. A sandbox of a task works for the task, and so does an
// event that names a task.
func (e specEvent) effective() bool {
	return e.row.sandbox.taskID == nil && e.said.text("task_id") == ""
}

// ensure creates the progress row if it does not exist.
func (e specEvent) ensure(ctx context.Context) {
	_ = e.q.EnsureSpec(ctx, e.row.sandbox.id, e.name("spec_id"))
}

func (e specEvent) name(field string) string {
	return storable(firstRunes(e.said.text(field), longestSpecID))
}

// merge adds the outputs of phases to the stored ones; a repeated phase replaces the earlier output. Values other than
// objects are ignored.
func (e specEvent) merge(ctx context.Context, outputs object) {
	kept := object{}
	for _, phase := range spec.Phases() {
		switch raw := outputs[phase]; {
		case len(raw) == 0 || raw[0] != '{':
		case len(raw) > longestOutput:
			kept.set(phase, map[string]any{"event_id": ingest.EventID(e.row.sandbox.id, e.row.sequence), "bytes": len(raw)})
		default:
			kept[phase] = raw
		}
	}
	if len(kept) > 0 && e.effective() {
		e.ensure(ctx)
		_ = e.q.SpecPhaseData(ctx, string(jsonOf(kept)), e.row.sandbox.id)
	}
}

// runEnded stores the phase data that the end of a spec run reports.
func (e specEvent) runEnded(ctx context.Context) {
	if e.name("spec_id") == "" || !e.effective() {
		return
	}
	e.merge(ctx, readObject(e.said["phase_data"]))
	if string(e.said["success"]) == "false" {
		e.ensure(ctx)
		_ = e.q.SpecFailed(ctx, e.row.sandbox.id)
	}
}

func (e specEvent) criterion(ctx context.Context) {
	id, requirement, box := e.name("criterion_id"), e.name("requirement_id"), e.row.sandbox.id
	if id == "" {
		return
	}
	e.ensure(ctx)
	_ = e.q.SpecCriterion(ctx, db.SpecCriterionParams{
		SandboxID: box, CriterionID: id, RequirementID: requirement, At: timeOr(e.plan.now), Most: mostCriteria,
	})
	evidence := e.said["evidence"]
	if len(evidence) == 0 || len(evidence) > ingest.LargeField {
		evidence = json.RawMessage("null") // the event holds the evidence
	}
	_ = e.q.TellCriterion(ctx, db.TellCriterionParams{
		SandboxID: box, CriterionID: id, RequirementID: requirement, SpecID: e.name("spec_id"), Evidence: string(evidence), TaskID: orNull(e.name("task_id")),
	})
}
