package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// fact is a fact for [task.Decide], with the reason that users see.
type fact struct {
	task.Fact
	command    string // ID of the command that reported the fact; empty: no command
	from       string // the sandbox that gave a verdict; empty: a user gave it
	reason     string
	endReason  task.Reason // the condition behind reason, for programs
	idle       string      // see contract.AttemptEnd
	errorID    string
	feedbackID string
	checkpoint string // of a rewind
	quotes     bool   // the reason introduces the text of errorID
	resetAt    time.Time
}

// sentence returns what happened, for the task's row.
func (f fact) sentence() string {
	if f.reason != "" {
		return f.reason
	}
	return f.DefaultReason()
}

// user reports whether the fact is a request of a user or a command of the sandbox. Such a fact may interrupt a step.
func (f fact) user() bool { return f.SandboxID == "" || f.command != "" }

// inbox collects facts from signals and from the cancel request.
type inbox struct {
	facts    []fact
	busy     bool // the inbox coroutine waits for an activity
	signals  int  // received by this run
	admitted bool
	commands []contract.Command // received before the inbox was opened

	ignoreCancel bool     // the cancel request was re-applied by a reset
	deleted      []string // sandboxes whose cleanup has signaled the first absence check
}

// dropReapplied drops the signals that a reset re-applied before its run began: digests, whose events are read from the store
// instead, commands without a row, and a cancel request.
func (b *inbox) dropReapplied(cancel, free workflow.Context) {
	for workflow.GetSignalChannel(free, contract.SignalSandboxEvents).ReceiveAsync(nil) {
		b.signals++
	}
	var cmd contract.Command
	for workflow.GetSignalChannel(free, contract.SignalCommand).ReceiveAsync(&cmd) {
		b.signals++
		if cmd.ID != "" {
			b.commands = append(b.commands, cmd)
		}
		cmd = contract.Command{}
	}
	b.ignoreCancel = cancel.Err() != nil
}

// open starts the coroutines that receive signals and the cancel request.
func (b *inbox) open(cancel, free workflow.Context, r *taskRun) {
	workflow.GoNamed(free, "inbox", func(ctx workflow.Context) {
		for _, cmd := range b.commands {
			b.takeCommand(ctx, cmd, r)
		}
		s := workflow.NewNamedSelector(ctx, "inbox")
		onSignal(ctx, s, b, contract.SignalSandboxEvents, func(d contract.Digest) { b.takeDigest(ctx, d, r) })
		onSignal(ctx, s, b, contract.SignalCommand, func(cmd contract.Command) { b.takeCommand(ctx, cmd, r) })
		onSignal(ctx, s, b, contract.SignalCheck, func(check contract.CheckSignal) {
			r.watch.CheckRequested = r.watch.CheckRequested || r.attempt != nil && check.SandboxID == r.attempt.SandboxID
		})
		onSignal(ctx, s, b, contract.SignalSandboxDeleted, func(gone contract.SandboxDeletedSignal) {
			b.deleted = append(b.deleted, gone.SandboxID)
		})
		s.AddReceive(workflow.GetSignalChannel(ctx, contract.SignalAdmitted), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			b.signals++
			b.admitted = true
		})
		for {
			s.Select(ctx)
		}
	})
	if b.ignoreCancel {
		return
	}
	workflow.GoNamed(free, "cancel request", func(ctx workflow.Context) {
		cancel.Done().Receive(ctx, nil)
		b.facts = append(b.facts, fact{Fact: task.Fact{Kind: task.FactCancel}, reason: "cancelled from outside"})
	})
}

// onSignal adds a receiver to a selector that takes one signal at a time. A signal that cannot be decoded is dropped, and must
// not make the inbox wait for the next one.
func onSignal[T any](ctx workflow.Context, s workflow.Selector, b *inbox, name string, take func(T)) {
	s.AddReceive(workflow.GetSignalChannel(ctx, name), func(c workflow.ReceiveChannel, _ bool) {
		var signal T
		if c.ReceiveAsync(&signal) {
			b.signals++
			take(signal)
		}
	})
}

// takeDigest applies a digest, and reads missed events if needed.
func (b *inbox) takeDigest(ctx workflow.Context, d contract.Digest, r *taskRun) {
	b.busy = true
	defer func() { b.busy = false }()
	r.applyDigest(ctx, d)
}

// takeCommand loads the command from the store and drops a command that is already settled.
func (b *inbox) takeCommand(ctx workflow.Context, cmd contract.Command, r *taskRun) {
	b.busy = true
	defer func() { b.busy = false }()
	var taken contract.LoadedCommand
	in := contract.LoadCommandInput{TaskID: r.id, Command: cmd, Ordinal: int64(b.signals)}
	if err := (call{name: contract.LoadCommand, summary: cmd.Kind}).get(ctx, in, &taken); err != nil {
		workflow.GetLogger(ctx).Warn("load command failed", "kind", cmd.Kind, "error", err)
		return
	}
	if !taken.Settled {
		b.facts = append(b.facts, commandFact(taken))
	}
}

// commandFact returns the fact that a command stands for.
func commandFact(c contract.LoadedCommand) fact {
	f := fact{command: c.ID, from: c.From, reason: c.Reason, endReason: c.EndReason, feedbackID: c.FeedbackID}
	f.OK = c.OK
	switch c.Kind {
	case contract.CommandCancel:
		f.Kind = task.FactCancel
	case contract.CommandFail:
		f.Kind = task.FactFail
	case contract.CommandComplete:
		f.Kind = task.FactComplete
	case contract.CommandVerdict:
		f.Kind, f.SandboxID = task.FactVerdict, c.SandboxID
	case contract.CommandRetry:
		f.Kind = task.FactRetry
		if c.Checkpoint != "" {
			f.Kind, f.checkpoint = task.FactRewind, c.Checkpoint
		}
	case contract.CommandReplace:
		f.Kind, f.SandboxID = task.FactReplace, c.SandboxID
	case contract.CommandPause:
		f.Kind = task.FactPause
	case contract.CommandBudget:
		f.Kind = task.FactBudget
	case contract.CommandSuspend:
		f.Kind = task.FactSuspend
	}
	return f
}

// anyFact matches every fact, for use between two steps. During a step callers use [fact.user].
func anyFact(fact) bool { return true }

// has reports whether a pending fact matches.
func (b *inbox) has(which func(fact) bool) bool { return slices.ContainsFunc(b.facts, which) }

// take removes and returns the oldest fact that matches.
func (b *inbox) take(which func(fact) bool) (fact, bool) {
	i := slices.IndexFunc(b.facts, which)
	if i < 0 {
		return fact{}, false
	}
	f := b.facts[i]
	b.facts = slices.Concat(b.facts[:i], b.facts[i+1:])
	return f, true
}
