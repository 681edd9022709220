package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// probeTimeout limits the check of an agent's spool.
const probeTimeout = 5 * time.Second

// CheckAgent collects what is known about an agent and judges it. It returns no error of its own: if a check fails, the
// state is unknown, and omoi never ends an attempt because its state is unknown.
func (a *Activities) CheckAgent(ctx context.Context, in contract.CheckAgentInput) (contract.Observation, error) {
	seen, err := a.observe(ctx, in)
	if err != nil || in.Question == contract.AskEnded || seen.Seen != contract.ObservedUnknown && seen.Seen != contract.ObservedWorking {
		return seen, err
	}
	if err := a.deps.Texts.NoteDoubt(ctx, in.SandboxID, seen.EndReason); err != nil { // users see less; nothing else depends on it
		a.log.WarnContext(ctx, "record unknown sandbox state failed, users do not see it", slog.String("sandbox_id", in.SandboxID), slog.String("error", a.brief(err.Error())))
	}
	return seen, nil
}

func (a *Activities) observe(ctx context.Context, in contract.CheckAgentInput) (contract.Observation, error) {
	e := evidence{question: in.Question, threshold: in.Threshold, tool: in.Tool}
	var err error
	if e.pulse, err = a.deps.Ledger.Pulse(ctx, in.SandboxID, in.Threshold); err != nil {
		return a.unknown(ctx, in, task.ReasonStoreUnreachable, err)
	}
	if _, alive := storeShowsLife(e); alive {
		return judge(e), nil
	}
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return a.unknown(ctx, in, task.ReasonSandboxUnreachable, err)
	}
	a.look(ctx, p, &e)
	// Events from before the agent's end, or from during the check, are stored now.
	if e.pulse, err = a.deps.Ledger.Pulse(ctx, in.SandboxID, in.Threshold); err != nil {
		return a.unknown(ctx, in, task.ReasonStoreUnreachable, err)
	}
	return judge(e), ctx.Err()
}

// look asks the provider, and checks the agent's spool if the result can matter.
func (a *Activities) look(ctx context.Context, p place, e *evidence) {
	if e.machine = p.machine(); !e.machine {
		return
	}
	e.advice, e.began = a.advice(p.row), p.row.StartedAt != nil
	var err error
	e.seen, err = p.inspect(ctx)
	e.seen.Reason = a.brief(e.seen.Reason) // the reason goes into a history
	if err != nil {
		a.log.WarnContext(ctx, "inspect sandbox failed, state unknown", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
		return
	}
	if e.question == contract.AskEnded || e.seen.State != sandbox.StateAlive || e.seen.Agent != sandbox.StateAlive || !p.caps.Exec {
		return
	}
	e.probe, err = probeSpool(ctx, p)
	if e.blind = err != nil; e.blind {
		a.log.WarnContext(ctx, "read spool failed, state of agent unknown", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// advice returns what a user can do if the agents cannot reach the API: let a worker read their events.
func (a *Activities) advice(row task.Sandbox) string {
	if a.pulled(row) {
		return ""
	}
	return fmt.Sprintf("if its network keeps it from that, set OMOI_TRANSPORT_%s=pull for omoi worker and start it again, then `omoi cancel %s` and `omoi retry %s`",
		strings.ToUpper(row.Provider), row.TaskID, row.TaskID)
}

// probeSpool runs omoi-agent's check of its spool. A check that runs without a usable result returns nil: it is no
// reason for uncertainty.
func probeSpool(ctx context.Context, p place) (*spool.Probe, error) {
	res, err := sandbox.Exec(ctx, p.provider, p.labels, sandbox.Command{
		Args: []string{sandbox.AgentPath, "probe", "--dir", sandbox.Dir}, Timeout: probeTimeout,
	})
	if err != nil {
		return nil, err
	}
	var out spool.Probe
	if res.ExitCode == 0 && json.Unmarshal(res.Stdout, &out) == nil {
		return &out, nil
	}
	return nil, nil //nolint:nilnil // no probe and no doubt
}

// unknown returns the observation of a check that failed. A cancel stays a cancel.
func (a *Activities) unknown(ctx context.Context, in contract.CheckAgentInput, code task.ReasonCode, err error) (contract.Observation, error) {
	if ctx.Err() != nil {
		return contract.Observation{}, ctx.Err()
	}
	a.log.WarnContext(
		ctx, "check agent failed, state unknown",
		slog.String("sandbox_id", in.SandboxID),
		slog.String("code", string(task.CodeOf(err))),
		slog.String("error", a.brief(err.Error())),
	)
	out := unclear(task.Reason{Code: code})
	out.Reason = explain.Reason(out.EndReason)
	return out, nil
}

// evidence holds all inputs of an observation.
type evidence struct {
	question  string
	threshold time.Duration
	tool      time.Duration // maximum duration of one tool call
	pulse     task.Pulse
	machine   bool // a sandbox exists to check; if false, heartbeats alone decide
	seen      sandbox.Inspection
	began     bool         // the ledger says that the agent was started
	probe     *spool.Probe // result of the check of the agent's spool; nil if it could not be read
	blind     bool         // the check could not be tried
	advice    string       // what a user can do if the agent works and cannot reach the API
}

// judge answers the question of a timer. The order matters: first activity in the store, then an end that the provider
// confirms, then each reason for uncertainty, and only then a verdict against the agent.
func judge(e evidence) contract.Observation {
	out := verdict(e)
	if e.pulse.VerdictDue && out.Seen != contract.ObservedWorking { // a verdict is accepted, so its work is done
		out = unclear(task.Reason{Code: task.ReasonVerdictPending})
	}
	out.Reason = explain.Reason(out.EndReason)
	out.LastSequence = e.pulse.Head
	return out
}

func verdict(e evidence) contract.Observation {
	if next, alive := storeShowsLife(e); alive {
		return contract.Observation{Seen: contract.ObservedWorking, Next: next}
	}
	if out, ended := ending(e); ended {
		return out
	}
	if e.question == contract.AskEnded {
		return contract.Observation{Seen: contract.ObservedUnknown}
	}
	if why := unsure(e); why.Code != "" {
		return unclear(why)
	}
	return against(e)
}

// storeShowsLife reports whether stored events show that the agent works, and after which time to check again: the rest
// of the threshold.
func storeShowsLife(e evidence) (time.Duration, bool) {
	if e.question == contract.AskEnded { // events from before the end do not disprove it
		return 0, false
	}
	age := e.age()
	if e.question == contract.AskStartup && e.pulse.Started >= 0 {
		return e.threshold, true
	}
	if age < e.threshold {
		return e.threshold - age, true
	}
	if e.question == contract.AskNoWork && e.pulse.Tool != "" && e.pulse.Beat >= 0 && e.pulse.Beat < e.threshold && e.pulse.ToolAge < e.tool {
		return e.tool - e.pulse.ToolAge, true
	}
	return 0, false
}

// age returns the time since the newest event that the question is about.
func (e evidence) age() time.Duration {
	p := e.pulse
	switch e.question {
	case contract.AskStartup:
		return newest(p.Assigned)
	case contract.AskIdle:
		return newest(p.Waiting)
	case contract.AskNoWork:
		if p.Waiting >= 0 {
			return p.Waiting
		}
		return newest(p.Work, p.Started, p.Assigned)
	}
	return newest(p.Beat, p.Assigned)
}

// newest returns the smallest known age; zero if none is known, since an event that never came cannot be late.
func newest(ages ...time.Duration) time.Duration {
	found := time.Duration(-1)
	for _, age := range ages {
		if age >= 0 && (found < 0 || age < found) {
			found = age
		}
	}
	return max(found, 0)
}

// ending returns the end that the provider confirms, if any.
func ending(e evidence) (contract.Observation, bool) {
	if !e.machine {
		return contract.Observation{}, false
	}
	switch {
	case e.seen.State == sandbox.StateGone:
		return over(contract.ObservedGone, task.ClassInfrastructure, task.Reason{Code: task.ReasonSandboxGone}), true
	case e.seen.State != sandbox.StateAlive || e.seen.Agent != sandbox.StateGone || !e.seen.Started && !e.began:
		return contract.Observation{}, false
	case !e.seen.Started:
		why := task.Reason{Code: task.ReasonSandboxStopped, Detail: e.seen.Reason}
		return over(contract.ObservedExited, task.ClassInfrastructure, why), true
	}
	class, why := exit(e)
	return over(contract.ObservedExited, class, why), true
}

// exit returns why an agent's program ended. An attempt that a user interrupted does not restart by itself.
func exit(e evidence) (task.FailureClass, task.Reason) {
	switch {
	case e.seen.OOM:
		return task.ClassResources, task.Reason{Code: task.ReasonOutOfMemory}
	case e.seen.DiskFull:
		return task.ClassResources, task.Reason{Code: task.ReasonDiskFull}
	case e.seen.ExitCode < 0 || e.seen.ExitCode > signalled:
		return task.ClassInfrastructure, task.Reason{Code: task.ReasonKilled}
	case e.pulse.Interrupted && e.pulse.InterruptedBy == task.FromPerson:
		return task.ClassStopped, task.Reason{Code: task.ReasonInterrupted, By: e.pulse.InterruptedBy}
	case e.pulse.Interrupted:
		return task.ClassAgentError, task.Reason{Code: task.ReasonInterrupted, By: e.pulse.InterruptedBy}
	case e.seen.ExitCode == 0: // a program exits with 0 only after its last event was acknowledged
		return task.ClassInfrastructure, task.Reason{Code: task.ReasonStopped}
	}
	return task.ClassAgentError, task.Reason{Code: task.ReasonExited, ExitCode: e.seen.ExitCode}
}

// over returns the observation that an attempt has ended.
func over(seen string, class task.FailureClass, why task.Reason) contract.Observation {
	return contract.Observation{Seen: seen, Class: class, EndReason: why}
}

// unclear returns the observation that the state is unknown, with the reason.
func unclear(why task.Reason) contract.Observation {
	return contract.Observation{Seen: contract.ObservedUnknown, EndReason: why}
}

// signalled is the exit code above which a shell reports a signal.
const signalled = 128

// unsure returns the reason why the state is unknown; zero if there is none.
func unsure(e evidence) task.Reason {
	switch {
	case e.machine && e.seen.State != sandbox.StateAlive:
		return task.Reason{Code: task.ReasonProviderUnreachable, Detail: e.seen.Reason}
	case e.machine && e.seen.Started && e.seen.Agent == sandbox.StateUnknown:
		return task.Reason{Code: task.ReasonAgentUnknown, Detail: e.seen.Reason}
	case e.pulse.IntakeOut > 0:
		return task.Reason{Code: task.ReasonIntakeDown}
	case e.pulse.RelayOut > 0:
		return task.Reason{Code: task.ReasonRelayDown}
	case e.blind:
		return task.Reason{Code: task.ReasonSpoolUnreadable}
	case e.probe != nil && e.probe.AgentAlive && e.probe.Unsent > 0 && e.probe.Ended:
		return task.Reason{Code: task.ReasonEndUnsent, Detail: e.advice}
	case e.probe != nil && e.probe.AgentAlive && e.probe.Unsent > 0 && !e.stopped():
		return task.Reason{Code: task.ReasonEventsUnsent, Detail: e.advice}
	case (e.question == contract.AskStartup || e.question == contract.AskHeartbeat) && e.beatsInside(): // a waiting agent sends heartbeats as well
		return task.Reason{Code: task.ReasonEventsPending}
	}
	return task.Reason{}
}

// beatsInside reports whether the agent wrote to its spool within the threshold, whether or not the events were sent.
func (e evidence) beatsInside() bool {
	return e.probe != nil && e.probe.AgentAlive && e.probe.NewestAgeMS >= 0 &&
		time.Duration(e.probe.NewestAgeMS)*time.Millisecond < e.threshold
}

// stopped reports whether the agent wrote nothing to its own spool for the threshold: the process exists but does not
// run.
func (e evidence) stopped() bool {
	return time.Duration(e.probe.NewestAgeMS)*time.Millisecond >= e.threshold
}

// against returns the verdict against the agent if no check is in its favor.
func against(e evidence) contract.Observation {
	beats := e.pulse.Beat >= 0 && e.pulse.Beat < e.threshold
	switch {
	case e.question == contract.AskStartup:
		return over(contract.ObservedSilent, task.ClassInfrastructure, task.Reason{Code: task.ReasonNotStarted})
	case e.question != contract.AskHeartbeat && e.pulse.Waiting >= e.threshold:
		return over(contract.ObservedIdle, task.ClassAgentError, task.Reason{Code: task.ReasonIdle})
	case e.question == contract.AskNoWork && beats:
		return over(contract.ObservedStuck, task.ClassAgentError, task.Reason{Code: task.ReasonNoWork})
	}
	return over(contract.ObservedSilent, task.ClassInfrastructure, task.Reason{Code: task.ReasonSilent})
}
