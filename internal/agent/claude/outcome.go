package claude

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// Time for the program to end after its input is closed. Background tasks get more, because the program reports their
// end to the model.
const (
	closeWait  = 15 * time.Second
	behindWait = 5 * time.Minute
)

// Close ends the program and returns the failure, which now also depends on its exit code.
func (t *talk) Close(ctx context.Context) (f *continuous.Failure, interrupted bool) {
	end, wait := t.end, closeWait
	if t.rec.now().behind {
		wait = behindWait
	}
	t.prog.In.Close()
	late, heard := time.After(wait), t.Receiver.Heard
	for !end.ended {
		select {
		case <-ctx.Done():
			t.halt()
			return nil, false
		case m, ok := <-heard:
			if !ok || t.heardLate(end, m) {
				heard = nil
			}
		case <-late:
			t.prog.stop()
		case l := <-t.prog.notices:
			t.noticed(end, l)
		case <-t.prog.Drained:
			t.drain(end)
			end.ended, end.exit = true, t.prog.Result
		}
	}
	if len(end.stopping) > 0 {
		t.stopped(end)
		return nil, true
	}
	return t.Failure(), false
}

// heardLate handles a message while the program ends. An interrupt kills the program with its background tasks, and the
// result is true. Any other message waits for the next turn.
func (t *talk) heardLate(end *turn, m inbox.Message) (stopping bool) {
	if m.Type != inbox.TypeInterrupt {
		t.Later = append(t.Later, m)
		return false
	}
	end.stopping = append(end.stopping, m)
	t.rec.looks.hurry()
	t.prog.stop()
	return true
}

// Complete reports that the work is complete.
func (t *talk) Complete(w continuous.Work) {
	t.Save()
	at, reason := t.rec.now(), "end_turn"
	if r := t.end.result; r != nil { // nil: the turn that asked for a commit came to nothing
		reason = cmp.Or(r.StopReason, reason)
	}
	data := map[string]any{
		"success": true, "turns": at.Turn, "session_id": at.SessionID, "model": at.Spent.Model,
		"stop_reason": reason, "final_output": t.Standing().Said, "agent_type": t.Env.AgentType(),
		"tool_errors": at.Errors, "transcript_path": transcriptPath(t.Env, at.SessionID), "duration_ms": at.WorkedMS,
		"validation_passed": false, "tests_passed": w.Tested,
	}
	maps.Copy(data, t.rec.now().bill)
	maps.Copy(data, t.WorkData(w))
	maps.Copy(data, w.Found())
	t.Env.Report.Emit(event.AgentCompleted, data)
}

// Failing compares the work tree again, and reports the program's own reason of an unexpected end.
func (t *talk) Failing(f *continuous.Failure) {
	t.rec.caughtUp()
	if f.Class == task.ClassInfrastructure || f.Class == task.ClassResources {
		now := t.rec.now()
		t.Env.Report.Emit(event.AgentStreamError, map[string]any{
			"error": f.Text, "error_type": f.Kind, "turn": now.Turn, "final_output_length": len(now.said),
		})
	}
}

// Standing returns the current state of the program's work.
func (t *talk) Standing() continuous.Standing {
	now := t.rec.now()
	return continuous.Standing{Cost: now.cost, Bill: now.bill, Session: t.place.SessionID, Turns: now.Turn, Files: now.Files, Said: cmp.Or(t.State.Account, now.said)}
}
