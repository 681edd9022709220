package guardian

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// outlivesInterrupt reports whether an agent continues after an interrupt with the message.
func outlivesInterrupt(w Watched) bool {
	var execution task.Execution
	_ = json.Unmarshal(w.Execution, &execution) // another form counts as empty
	runtime := task.RuntimeOf(w.Agent)
	return runtime.SurvivesInterrupt || runtime.Input == task.InputCommand && w.Mode != task.ModeValidation && execution.ReadsMessages
}

// intervention returns the intervention for an analysis without its level, which the escalation policy decides.
func (g *Guardian) intervention(w Watched, j Analysis, a supervise.Analysis) Intervention {
	kind := cmp.Or(a.SteeringType, supervise.Guidance)
	live := g.cfg.AutoSteering
	if w.AutoSteering != nil {
		live = *w.AutoSteering
	}
	return Intervention{
		AnalysisID: j.ID, OrganizationID: w.OrganizationID, TaskID: w.TaskID, SandboxID: w.SandboxID, Attempt: w.Attempt,
		SteeringType: kind, Content: fmt.Sprintf("[GUARDIAN INTERVENTION - %s] %s", kind, a.Recommendation),
		Confidence: a.Confidence, Shadow: !live,
	}
}

// carryOut carries out the planned interventions for the sandboxes of a range, including those of an earlier try.
func (g *Guardian) carryOut(ctx context.Context, s contract.Range) (acted int, err error) {
	planned, err := g.deps.Store.Planned(ctx, s.After, s.Upto)
	if err != nil {
		return 0, err
	}
	for _, iv := range planned {
		done, err := g.deps.Store.CarryOut(ctx, iv)
		if err != nil {
			return acted, fmt.Errorf("carry out intervention %s: %w", iv.ID, err)
		}
		g.log.InfoContext(ctx, "intervention executed", slog.String("intervention_id", done.ID), slog.String("task_id", done.TaskID),
			slog.String("level", string(done.Level)), slog.String("state", done.State))
		if done.State == InterventionSent {
			acted++
			g.deps.Wake(done)
		}
	}
	return acted, nil
}

// JudgeNow analyzes one active sandbox outside of the cycles and carries out its planned interventions. Unless force is set,
// it returns a valid analysis instead of a new one.
func (g *Guardian) JudgeNow(ctx context.Context, sandboxID string, force bool) (Analysis, error) {
	if !force {
		found, err := g.deps.Store.NewestJudgements(ctx, []string{sandboxID}, max(g.cfg.Fresh, 0))
		if err != nil {
			return Analysis{}, err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	cycle := "asked-" + task.NewID()
	found, err := g.deps.Store.Watched(ctx, WatchQuery{CycleID: cycle, Only: sandboxID, Limit: 1})
	if err == nil && len(found) == 0 {
		err = task.Errorf(task.CodeNotFound, "Cannot analyze sandbox %s: it has no running attempt. Next: omoi sandbox list", sandboxID)
	}
	if err != nil {
		return Analysis{}, err
	}
	events, err := g.deps.Store.WatchedEvents(ctx, found, NewestEvents)
	if err != nil {
		return Analysis{}, err
	}
	var model supervise.Model
	if g.deps.Model != nil {
		model = g.deps.Model()
	}
	j, iv, err := g.judgeOne(ctx, cycle, found[0], events[sandboxID], model)
	if err == nil && iv.State == InterventionPlanned {
		iv, err = g.deps.Store.CarryOut(ctx, iv)
		g.deps.Wake(iv)
	}
	return j, err
}

// storable returns JSON without U+0000, which PostgreSQL rejects and agents may print.
func storable(raw json.RawMessage) json.RawMessage {
	return bytes.ReplaceAll(raw, []byte(`\u0000`), []byte(`\ufffd`))
}
