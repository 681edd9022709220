package acp

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

// closeWait is the time for the program to end after its input is closed.
const closeWait = 5 * time.Second

// Close ends the program. Its exit code says nothing.
func (t *talk) Close(ctx context.Context) (f *continuous.Failure, interrupted bool) {
	if t.conn == nil || t.conn.over() {
		return nil, false
	}
	t.conn.In.Close()
	late, heard := time.After(closeWait), t.Receiver.Heard
	for !t.conn.over() {
		select {
		case <-ctx.Done():
			t.halt()
		case m, ok := <-heard:
			switch {
			case !ok:
				heard = nil
			case m.Type == inbox.TypeInterrupt:
				t.Env.Interrupted(m)
				interrupted, heard = true, nil
				t.halt()
			default:
				t.Later = append(t.Later, m)
			}
		case <-late:
			t.halt()
		case <-t.conn.Drained:
		}
	}
	return nil, interrupted
}

// Complete reports that the work is complete.
func (t *talk) Complete(w continuous.Work) {
	t.Save()
	now, reason := t.rec.now(), "end_turn"
	if t.end.result != nil {
		reason = cmp.Or(t.end.result.Stop, reason)
	}
	data := map[string]any{
		"success": true, "turns": now.Turn, "session_id": now.SessionID, "stop_reason": reason, "final_output": t.Standing().Said,
		"agent_type": t.Env.AgentType(), "tool_errors": now.Errors, "transcript_path": t.transcript(), "duration_ms": now.WorkedMS,
		"validation_passed": false, "tests_passed": w.Tested,
	}
	if now.Model != "" {
		data["model"] = now.Model
	}
	maps.Copy(data, now.bill)
	maps.Copy(data, t.WorkData(w))
	maps.Copy(data, w.Found())
	t.Env.Report.Emit(event.AgentCompleted, data)
}

// Failing reports the connection error of an unexpected end.
func (t *talk) Failing(f *continuous.Failure) {
	if f.Class == task.ClassInfrastructure || f.Class == task.ClassResources {
		now := t.rec.now()
		t.Env.Report.Emit(event.AgentStreamError, map[string]any{"error": f.Text, "error_type": f.Kind, "turn": now.Turn, "final_output_length": len(now.said)})
	}
}

// Standing returns the current state of the work.
func (t *talk) Standing() continuous.Standing {
	now := t.rec.now()
	return continuous.Standing{Cost: now.Spent.usd(), Bill: now.bill, Session: now.SessionID, Turns: now.Turn, Files: now.Files, Said: cmp.Or(t.State.Account, now.said)}
}
