package command

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// Reported returns the result if the program reported an outcome by a request to the API, or a failure by a line; nil
// otherwise.
func (r *run) Reported(ctx context.Context) (*agent.Result, error) {
	posted, err := reported(ctx, r.Env)
	said := r.rec.claim()
	switch {
	case err != nil:
		return nil, err
	case posted:
		r.Env.Log.InfoContext(ctx, "outcome reported by program", slog.Int("exit_code", r.end.ExitCode))
		return &agent.Result{Failed: !r.end.well()}, nil
	case said != nil && fails(said):
		return r.gaveUp(said), nil
	}
	return nil, nil //nolint:nilnil // no outcome was reported
}

// gaveUp reports the program's own failure.
func (r *run) gaveUp(said *eventLine) *agent.Result {
	data := said.Data
	if said.Type == event.AgentCompleted {
		data = r.rec.completion(data)
	}
	r.Env.Report.Emit(said.Type, data)
	return &agent.Result{Failed: true}
}

// Failure returns the failure of the last run. A success that the program reported needs the same validation as any
// other.
func (r *run) Failure() *continuous.Failure {
	gaveUp, failed := r.rec.gaveUp()
	switch {
	case r.rec.claim() != nil:
		return nil
	case r.end.stop == continuous.StopCost || r.end.stop == continuous.StopTurns:
		return continuous.AtLimit(r.end.stop, r.Standing())
	case failed:
		return &continuous.Failure{Class: task.ClassAgentError, Kind: "command_failed", Reason: "error", Text: gaveUp}
	case r.end.well():
		return nil
	}
	return r.end.failure()
}

// Failing adds the program's reported outcome, without its success.
func (r *run) Failing(f *continuous.Failure) {
	said := r.rec.claim()
	if said == nil {
		return
	}
	f.Data = maps.Clone(said.Data)
	for _, name := range []string{"success", "validation_passed"} {
		if _, told := f.Data[name]; told {
			f.Data[name] = false
		}
	}
}

// Complete reports that the work is complete, with the data that the program reported. In continuous mode it does
// nothing if the program has reported the end of its iteration.
func (r *run) Complete(w continuous.Work) {
	if r.Env.Config.Continuous && r.rec.saidSo() {
		return
	}
	kind, data := event.AgentCompleted, map[string]any{
		"stop_reason": "exit_0", "duration_ms": r.end.Duration.Milliseconds(), "tests_passed": w.Tested,
	}
	maps.Copy(data, r.WorkData(w))
	if said := r.rec.claim(); said != nil {
		kind, data["stop_reason"] = said.Type, "end_turn"
		maps.Copy(data, said.Data)
	}
	maps.Copy(data, w.Found())
	r.Env.Report.Emit(kind, r.rec.completion(data))
}

// class returns the failure class of a program that ended without success.
func (e *end) class() task.FailureClass {
	switch e.Outcome {
	case proc.OutOfMemory, proc.Limit:
		return task.ClassResources
	case proc.Killed:
		return task.ClassInfrastructure
	case proc.Exited, proc.Timeout, proc.Stopped:
	}
	return task.ClassAgentError
}

// well reports whether the program ended by itself with exit code 0.
func (e *end) well() bool { return e.Outcome == proc.Exited && e.ExitCode == 0 }

func (e *end) failure() *continuous.Failure {
	text := strings.TrimSpace(fmt.Sprintf("The command ended with exit code %d (%s). %s", e.ExitCode, e.Outcome, e.Note))
	return &continuous.Failure{
		Class: e.class(), Kind: string(e.Outcome), Reason: "error", Text: text + " " + agent.EndOf(e.output),
		Data: map[string]any{"exit_code": e.ExitCode, "output": e.output, "duration_ms": e.Duration.Milliseconds()},
	}
}
