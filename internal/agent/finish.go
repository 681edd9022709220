package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// phaseError is an error with the phase in which it happened and its failure class.
type phaseError struct {
	phase string
	class task.FailureClass
	cause error
	trace string
}

func (e *phaseError) Error() string { return e.cause.Error() }
func (e *phaseError) Unwrap() error { return e.cause }

// Failure returns an error before the work began, with its failure class: for example [task.ClassInfrastructure] if
// another sandbox may work. With [task.ClassNone] the code of err decides.
func Failure(class task.FailureClass, err error) error {
	return &phaseError{phase: "initialization", class: class, cause: err}
}

// ClassOf returns the failure class of an error that a runtime returned.
func ClassOf(err error) task.FailureClass {
	if p, ok := errors.AsType[*phaseError](err); ok && p.class != task.ClassNone {
		return p.class
	}
	if task.CodeOf(err) == task.CodeInvalid {
		return task.ClassInvalidInput
	}
	return task.ClassAgentError
}

// ending is the end of the work.
type ending struct {
	res          Result
	err          error
	killed, left int
}

// finish reports the end and waits until the API has acknowledged all events. If the program was asked to stop, finish
// waits until the grace time is over, when late ends. finish returns the exit code.
func (s *session) finish(ctx, late context.Context, e ending) int {
	code := 0
	if !e.res.ExitNow {
		s.keepTranscript(ctx)
		s.keepCheckpoint(ctx, s.cfg.Grace/2)
	}
	switch {
	case e.res.ExitNow:
		code = e.res.ExitCode
	case ctx.Err() != nil:
		reason := "sigterm"
		if errors.Is(context.Cause(ctx), reporter.ErrGone) {
			reason = "gone"
		}
		s.shutdown(reason, e)
	case e.err != nil:
		s.reportError(e.err)
		s.shutdown("error", e)
		code = 1
	case e.res.Interrupted:
		s.shutdown("interrupted", e)
	default:
		s.shutdown("complete", e)
		if e.res.Failed {
			code = 1
		}
	}
	if !e.res.ExitNow && s.report.Flush(ctx) == nil {
		s.keepTranscript(ctx) // an earlier upload may have failed because the API was unreachable
		return code
	}
	limit, cancel := context.WithTimeout(late, s.cfg.Grace)
	defer cancel()
	if err := s.report.Flush(limit); err != nil {
		s.deps.Log.WarnContext(ctx, "send remaining events failed, leaving them in the spool", slog.Any("error", err))
	}
	return code
}

func (s *session) shutdown(reason string, e ending) {
	s.report.Emit(event.AgentShutdown, map[string]any{
		"reason": reason, "total_turns": s.doing.Turn(), "timestamp": time.Now().UTC(),
		"killed_processes": e.killed, "survivors": e.left,
	})
}

func (s *session) reportError(err error) {
	data := map[string]any{"error": err.Error(), "failure_class": string(ClassOf(err)), "error_type": string(ClassOf(err)), "phase": "initial_task"}
	if p, ok := errors.AsType[*phaseError](err); ok {
		data["phase"] = p.phase
		if p.trace != "" {
			data["traceback"] = p.trace
		}
	}
	if reason := task.ReasonOf(err); reason.Code != "" {
		data["reason_code"], data["credential"] = reason.Code, reason.Credential
	}
	s.report.Emit(event.AgentError, data)
	s.marks.finish(s.deps.Log)
}

// setup runs the project's setup step once.
func (s *session) setup(ctx context.Context) error {
	if s.cfg.Setup == "" || s.marks.SetUp || s.marks.Done {
		return nil
	}
	s.report.Emit(event.AgentSetupStarted, map[string]any{"command": s.cfg.Setup})
	done := s.doing.Tool("setup")
	res, err := s.deps.Procs.Run(ctx, proc.Command{
		Args: Shell(s.cfg.Setup), Dir: s.cfg.Workspace, Env: environ(s.cfg, nil, "", ""), Timeout: s.cfg.SetupTimeout,
		Output: s.deps.Output,
	})
	done()
	if err != nil {
		return Failure(task.ClassInfrastructure, err)
	}
	ok := res.Outcome == proc.Exited && res.ExitCode == 0
	s.report.Emit(event.AgentSetupCompleted, map[string]any{
		"success": ok, "exit_code": res.ExitCode, "outcome": string(res.Outcome), "note": res.Note,
		"output": res.Output, "duration_ms": res.Duration.Milliseconds(),
	})
	if !ok {
		return setupError(res, s.cfg.SetupTimeout)
	}
	if err := s.leftovers().AfterSetup(ctx); err != nil {
		s.deps.Log.WarnContext(ctx, "note changes of the setup command failed, they count as the agent's", slog.Any("error", err))
	}
	s.marks.SetUp = true
	s.marks.save(s.deps.Log)
	return nil
}

// Exit codes of a shell for a command that it cannot run or find.
const (
	shellCannotRun = 126
	shellNotFound  = 127
)

// setupError returns the error that ends the attempt. A network or disk problem is infrastructure, because the next
// attempt may succeed. A missing command is invalid input, because it never does.
func setupError(res proc.Result, limit time.Duration) error {
	class, code, how := task.ClassInfrastructure, task.ReasonSetupFailed, fmt.Sprintf("ended with exit code %d", res.ExitCode)
	switch {
	case res.Outcome == proc.Timeout:
		code, how = task.ReasonSetupTimeout, fmt.Sprintf("exceeded its timeout of %s (setup_timeout_seconds of the project)", limit)
	case res.Outcome == proc.OutOfMemory:
		class, code, how = task.ClassResources, task.ReasonOutOfMemory, "ran out of memory"
	case res.Outcome != proc.Exited:
		how = strings.TrimSpace("ended abnormally: " + string(res.Outcome) + " " + res.Signal)
	case res.ExitCode == shellCannotRun, res.ExitCode == shellNotFound:
		class = task.ClassInvalidInput
	}
	cause := task.Errorf(task.CodeUnavailable, "The setup step %s. %s", how, EndOf(res.Output)).WithReason(task.Reason{Code: code})
	return Failure(class, cause)
}

// outputTail is the maximum number of output bytes in the reason of a failed attempt.
const outputTail = 2000

// EndOf returns the end of a failed command's output, for the reason of a failed attempt.
func EndOf(output string) string {
	tail := strings.TrimSpace(strings.ToValidUTF8(output[max(len(output)-outputTail, 0):], ""))
	return task.EndOfOutput + cmp.Or(task.Squeezed(tail), "(none)")
}

// marks is the state that a restarted omoi-agent continues from.
type marks struct {
	Began     bool   `json:"began"`
	SessionID string `json:"session_id"`
	Resumes   bool   `json:"resumes"` // continues an earlier attempt's transcript
	SetUp     bool   `json:"set_up"`
	Done      bool   `json:"done"` // the outcome was reported

	Restores string `json:"restores,omitempty"` // ID of the checkpoint to restore
	Restored bool   `json:"restored,omitempty"` // the checkpoint was restored, or cannot be

	path string
}

func (m *marks) save(log *slog.Logger) {
	if err := statefile.Save(m.path, m); err != nil {
		log.Warn("save progress failed, a restart may repeat finished steps", slog.Any("error", err))
	}
}

func (m *marks) finish(log *slog.Logger) {
	m.Done = true
	m.save(log)
}

// outcomes is the reporter of a runtime. outcomes records that the outcome was reported.
type outcomes struct {
	*reporter.Reporter
	session *session
}

// Emit reports an event. Emit adds the answered messages to [event.AgentWaiting], and sends the transcript before the
// outcome, because omoi may delete the sandbox after the outcome.
func (o *outcomes) Emit(eventType string, data map[string]any) {
	if eventType == event.AgentWaiting {
		data["message_ids"] = o.session.box.Answered()
	}
	if !event.Ends(eventType, o.session.cfg.Continuous) {
		o.Reporter.Emit(eventType, data)
		return
	}
	o.session.keepTranscript(context.Background())
	o.session.keepCheckpoint(context.Background(), lastWait)
	o.Reporter.Emit(eventType, data)
	o.session.marks.finish(o.session.deps.Log)
}
