package postgres

import (
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/spec"
)

// What events of a run by phases make of its progress row. They run in the transaction of
// the events, after the sandbox's row was locked; $1 is the sandbox.
const (
	sqlSpecRow = `INSERT INTO spec_progress AS p (sandbox_id, spec_id) VALUES ($1, $2) ON CONFLICT (sandbox_id) DO UPDATE
		SET spec_id = coalesce(nullif(excluded.spec_id, ''), p.spec_id), updated_at = now()`
	sqlPhaseStarted = `UPDATE spec_progress SET started = jsonb_build_object($2::text, coalesce($3::timestamptz, now())) || started,
			current_phase = CASE WHEN $4::boolean THEN $2 ELSE current_phase END,
			progress = CASE WHEN $4 THEN $5::integer ELSE progress END
		WHERE sandbox_id = $1`
	sqlPhaseCompleted = `UPDATE spec_progress SET completed = jsonb_build_object($2::text, coalesce($3::timestamptz, now())) || completed,
			last_completed = $2, last_completed_at = coalesce($3, now())
		WHERE sandbox_id = $1`
	sqlPhaseData = `UPDATE spec_progress p SET phase_data = m.phase_data, current_phase = coalesce(m.phase, p.current_phase),
			progress = CASE m.phase WHEN 'sync' THEN 100 ELSE
				coalesce(16 * array_position('{explore,prd,requirements,design,tasks}', m.phase), p.progress) END,
			status = CASE WHEN m.phase = 'sync' THEN 'completed' ELSE p.status END
		FROM (SELECT sandbox_id, d.phase_data, omoi_last_phase(d.phase_data) AS phase
			FROM spec_progress, LATERAL (SELECT phase_data || $2::text::jsonb AS phase_data) d WHERE sandbox_id = $1) m
		WHERE p.sandbox_id = m.sandbox_id`
	sqlSpecFailed   = `UPDATE spec_progress SET status = 'failed' WHERE sandbox_id = $1`
	sqlExecutionEnd = `UPDATE spec_progress SET
			execution_completed_at = CASE WHEN $2::boolean THEN coalesce(execution_completed_at, $3::timestamptz, now()) ELSE execution_completed_at END,
			execution_failed_at = CASE WHEN $2 THEN execution_failed_at ELSE coalesce(execution_failed_at, $3, now()) END,
			status = CASE WHEN NOT $4::boolean THEN status WHEN $2 THEN 'completed' ELSE 'failed' END,
			progress = CASE WHEN $4 AND $2 THEN 100 ELSE progress END
		WHERE sandbox_id = $1`
	sqlCriterion = `UPDATE spec_progress SET criteria =
			jsonb_build_object($2::text, jsonb_build_object('requirement_id', $3::text, 'at', coalesce($4::timestamptz, now()))) || criteria
		WHERE sandbox_id = $1 AND (criteria ? $2 OR (SELECT count(*) FROM jsonb_object_keys(criteria)) < $5)`
	sqlCriterionBus = `INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
		SELECT s.organization_id, 'CRITERION_COMPLETED', 'criterion', $2::text, jsonb_build_object('criterion_id', $2,
			'requirement_id', $3::text, 'evidence', $5::text::jsonb, 'sandbox_id', s.id, 'task_id', coalesce($6::text, s.task_id::text),
			'spec_id', coalesce(nullif($4::text, ''), (SELECT t.result ->> 'spec_id' FROM tasks t WHERE t.id = s.task_id)))
		FROM sandboxes s WHERE s.id = $1`
)

const (
	mostCriteria  = 500       // in a progress row; each is told to the bus, whatever their number
	longestOutput = 256 << 10 // of a phase in a progress row; a longer one is named by its event
	longestSpecID = 200
)

// specEvent is an event that may move a progress row. Values of other types say nothing.
type specEvent struct {
	batch *pgx.Batch
	plan  *eventPlan
	row   eventRow
	said  object
}

// queueSpec moves the progress rows of runs by phases, in the order of the events.
func (p *eventPlan) queueSpec(batch *pgx.Batch) {
	for _, row := range p.rows {
		if row.sandbox.ended || !event.Is(row.event.Type, event.Spec) && !event.Is(row.event.Type, event.Completion) {
			continue
		}
		e := specEvent{batch: batch, plan: p, row: row, said: object{}}
		for _, part := range row.event.Parts() {
			_ = json.Unmarshal(part, &e.said) // the database refuses what is no object
		}
		e.queue()
	}
}

func (e specEvent) queue() {
	phase := e.said.text("phase")
	known := slices.Contains(spec.Phases(), phase)
	at := timeOr(e.plan.now)
	switch e.row.event.Type {
	case event.SpecPhaseStarted:
		if known {
			e.move(sqlPhaseStarted, phase, at, e.effective(), spec.PhaseBegins(phase))
		}
	case event.SpecPhaseCompleted:
		if known {
			e.move(sqlPhaseCompleted, phase, at)
			e.merge(object{phase: e.said["phase_output"]})
		}
	case event.SpecExecutionCompleted, event.SpecExecutionFailed:
		e.move(sqlExecutionEnd, e.row.event.Type == event.SpecExecutionCompleted, at, e.effective())
	case event.SpecCriterionMet:
		e.criterion()
	case event.AgentCompleted, event.ContinuousCompleted:
		e.runEnded()
	}
}

// effective reports whether the event is the run's own. A task's sandbox works for the
// task, and so does an event that names one.
func (e specEvent) effective() bool {
	return e.row.sandbox.taskID == nil && e.said.text("task_id") == ""
}

// move makes sure of the row and changes it.
func (e specEvent) move(statement string, args ...any) {
	e.batch.Queue(sqlSpecRow, e.row.sandbox.id, e.name("spec_id"))
	e.batch.Queue(statement, append([]any{e.row.sandbox.id}, args...)...)
}

func (e specEvent) name(field string) string {
	return storable(firstRunes(e.said.text(field), longestSpecID))
}

// merge adds the outputs of phases to those that are known; a phase that comes again is
// the newer one. What is no object is none.
func (e specEvent) merge(outputs object) {
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
		e.move(sqlPhaseData, string(jsonOf(kept)))
	}
}

// runEnded takes over what the end of a spec's run tells of its phases.
func (e specEvent) runEnded() {
	if e.name("spec_id") == "" || !e.effective() {
		return
	}
	e.merge(readObject(e.said["phase_data"]))
	if string(e.said["success"]) == "false" {
		e.move(sqlSpecFailed)
	}
}

func (e specEvent) criterion() {
	id := e.name("criterion_id")
	if id == "" {
		return
	}
	e.move(sqlCriterion, id, e.name("requirement_id"), timeOr(e.plan.now), mostCriteria)
	evidence := e.said["evidence"]
	if len(evidence) == 0 || len(evidence) > ingest.LargeField {
		evidence = json.RawMessage("null") // the event has it
	}
	e.batch.Queue(sqlCriterionBus, e.row.sandbox.id, id, e.name("requirement_id"), e.name("spec_id"), string(evidence), orNull(e.name("task_id")))
}
