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

// probeTimeout bounds the look at an agent's spool.
const probeTimeout = 5 * time.Second

// CheckAgent gathers what can be known of a sandbox and judges it. It has no error of its own:
// what cannot be asked is unknown, and unknown ends nothing.
func (a *Activities) CheckAgent(ctx context.Context, in contract.CheckAgentInput) (contract.Observation, error) {
	seen, err := a.observe(ctx, in)
	if err != nil || in.Question == contract.AskEnded || seen.Seen != contract.ObservedUnknown && seen.Seen != contract.ObservedWorking {
		return seen, err
	}
	if err := a.deps.Texts.NoteDoubt(ctx, in.SandboxID, seen.EndReason); err != nil { // people see less, no more
		a.log.WarnContext(ctx, "doubt not noted", slog.String("sandbox_id", in.SandboxID), slog.String("error", a.brief(err.Error())))
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
	// What the agent said before it ended, or while we looked, is stored by now.
	if e.pulse, err = a.deps.Ledger.Pulse(ctx, in.SandboxID, in.Threshold); err != nil {
		return a.unknown(ctx, in, task.ReasonStoreUnreachable, err)
	}
	return judge(e), ctx.Err()
}

// look asks the provider, and the agent's spool where the answer could still matter.
func (a *Activities) look(ctx context.Context, p place, e *evidence) {
	if e.machine = p.machine(); !e.machine {
		return
	}
	e.advice, e.began = a.advice(p.row), p.row.StartedAt != nil
	var err error
	e.seen, err = p.inspect(ctx)
	e.seen.Reason = a.brief(e.seen.Reason) // it goes into a history
	if err != nil {
		a.log.WarnContext(ctx, "provider not asked", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
		return
	}
	if e.question == contract.AskEnded || e.seen.State != sandbox.StateAlive || e.seen.Agent != sandbox.StateAlive || !p.caps.Exec {
		return
	}
	e.probe, err = probeSpool(ctx, p)
	if e.blind = err != nil; e.blind {
		a.log.WarnContext(ctx, "spool not read", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
}

// advice is what a person can do whose agents cannot send what they say: have a worker read it.
func (a *Activities) advice(row task.Sandbox) string {
	if a.pulled(row) {
		return ""
	}
	return fmt.Sprintf("if its network keeps it from that, set OMOI_TRANSPORT_%s=pull for omoi worker and start it again, then `omoi cancel %s` and `omoi retry %s`",
		strings.ToUpper(row.Provider), row.TaskID, row.TaskID)
}

// probeSpool runs the agent's own look at its spool. A program that runs and says nothing
// of use is no reason for doubt: nil.
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

// unknown is the answer when a question could not be put; a cancel is still a cancel.
func (a *Activities) unknown(ctx context.Context, in contract.CheckAgentInput, code task.ReasonCode, err error) (contract.Observation, error) {
	if ctx.Err() != nil {
		return contract.Observation{}, ctx.Err()
	}
	a.log.WarnContext(
		ctx, "sandbox not observed",
		slog.String("sandbox_id", in.SandboxID),
		slog.String("code", string(task.CodeOf(err))),
		slog.String("error", a.brief(err.Error())),
	)
	out := unclear(task.Reason{Code: code})
	out.Reason = explain.Reason(out.EndReason)
	return out, nil
}
