package claude

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// How long the program may take to end once nothing more is said to it; longer where tasks of
// its own are at work in the background, of whose end it would tell the model.
const (
	closeWait  = 15 * time.Second
	behindWait = 5 * time.Minute
)

// close lets the program end, and judges once more: by its exit code too.
func (t *talk) close(ctx context.Context, end *turn) *failed {
	wait := closeWait
	if t.rec.now().behind {
		wait = behindWait
	}
	t.prog.in.Close()
	timer, heard := time.NewTimer(wait), t.receiver.Heard
	defer timer.Stop()
	for !end.ended {
		select {
		case <-ctx.Done():
			t.halt()
			return nil
		case m, ok := <-heard:
			if !ok || t.heardLate(end, m) {
				heard = nil
			}
		case <-timer.C:
			t.prog.stop()
		case l := <-t.prog.notices:
			t.noticed(end, l)
		case <-t.prog.done:
			t.drain(end)
			end.ended, end.exit = true, t.prog.result
		}
	}
	if len(end.stopping) > 0 {
		t.stopped(end)
		return nil
	}
	return t.failure(end)
}

// heardLate takes in what is said while the program ends. It can be told nothing more; an
// interrupt, after which it is true, ends it at once with all that it does in the background.
func (t *talk) heardLate(end *turn, m inbox.Message) (stopping bool) {
	if m.Type != inbox.TypeInterrupt {
		t.later = append(t.later, m)
		return false
	}
	end.stopping = append(end.stopping, m)
	t.rec.looks.hurry()
	t.prog.stop()
	return true
}

func (t *talk) completed(end *turn, w continuous.Work) {
	t.save()
	at := t.rec.now()
	data := map[string]any{
		"success": true, "turns": at.Turn, "session_id": at.SessionID, "model": at.Spent.Model,
		"stop_reason": cmp.Or(end.result.StopReason, "end_turn"), "final_output": t.rec.now().said, "agent_type": t.env.AgentType(),
		"tool_errors": at.Errors, "transcript_path": transcriptPath(t.env, at.SessionID), "duration_ms": at.WorkedMS,
		"validation_passed": false, "tests_passed": w.Tested,
	}
	maps.Copy(data, t.rec.now().bill)
	maps.Copy(data, t.loop().WorkData(w))
	maps.Copy(data, w.Found())
	t.env.Report.Emit(event.AgentCompleted, data)
}

// fail reports why there is nothing more to expect, with what there is: words and bill.
func (t *talk) fail(f *failed) agent.Result {
	t.rec.caughtUp()
	t.save()
	data := map[string]any{
		"error": f.text, "error_type": f.kind, "failure_class": string(f.class), "phase": "initial_task", "stop_reason": f.reason,
		"turn": t.rec.now().Turn, "session_id": t.place.SessionID, "final_output": t.rec.now().said, "final_output_length": len(t.rec.now().said),
	}
	maps.Copy(data, t.rec.now().bill)
	if f.code != "" {
		data["reason_code"] = f.code
	}
	if !f.reset.IsZero() {
		data["reset_at"] = f.reset
	}
	if f.class == task.ClassInfrastructure || f.class == task.ClassResources {
		t.env.Report.Emit(event.AgentStreamError, map[string]any{
			"error": f.text, "error_type": f.kind, "turn": t.rec.now().Turn, "final_output_length": len(t.rec.now().said),
		})
	}
	t.env.Report.Emit(event.AgentError, data)
	return agent.Result{Failed: true}
}

// abandoned is an agent that was interrupted and that nobody spoke to again. It does not go on
// against the will of who stopped it.
func (t *talk) abandoned(err error) agent.Result {
	if err != nil {
		return agent.Result{}
	}
	return t.fail(&failed{
		class: task.ClassStopped, kind: "interrupted", reason: "interrupted", code: task.ReasonInterrupted,
		text: "The agent was interrupted, and no message came that says how to go on.",
	})
}
