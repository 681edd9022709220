package ingest

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// delivery serves one task once.
type delivery struct {
	relay   *Relay
	unit    Unit
	settled Settled
	// begun is when the start was accepted that this delivery has sent; zero: none.
	begun time.Time
	// stranded is set if loaded events could not be put back. The lease then expires, so that they are recalled.
	stranded bool
	missed   bool // a call to Temporal failed
}

// send sends what is due in its order. If something cannot be sent now, it stops, so that the order is kept.
func (d *delivery) send(ctx context.Context) {
	_ = d.sendCommands(ctx) && d.sendAdmitted(ctx) && d.sendDigest(ctx)
}

func (d *delivery) sendCommands(ctx context.Context) bool {
	commands, err := d.relay.store.RelayCommands(ctx, d.unit.TaskID)
	if err != nil {
		return d.failed(ctx, whatStore, err)
	}
	for _, c := range commands {
		if !d.sendCommand(ctx, c) {
			return false
		}
	}
	return true
}

// sendCommand sends one command and records the outcome. It returns false if the command has to be sent again.
func (d *delivery) sendCommand(ctx context.Context, c RelayCommand) bool {
	if c.Claimed { // the response to its start was lost
		return d.noted(ctx, d.relay.store.CommandSent(ctx, c.ID))
	}
	if !d.ready(ctx, c) {
		return false
	}
	err := d.call(ctx, func(ctx context.Context) error { return d.post(ctx, c) })
	switch task.CodeOf(err) { //nolint:exhaustive // the rest are tried again, however long it takes
	case "":
		if c.Kind == contract.CommandStart {
			d.begun = c.At
		}
		d.relay.cfg.Meter.Sent(whatOf(c))
		return d.noted(ctx, d.relay.store.CommandSent(ctx, c.ID))
	case task.CodeGone, task.CodeNotFound:
		if whatOf(c) == whatStart {
			return d.over(ctx, c, task.ReceiptTooLate, "the task had ended")
		}
		if d.noted(ctx, d.relay.store.RunEnded(ctx, d.unit.TaskID, c)) {
			d.cleared(ctx)
		}
		return false // what is left is read again: there is no run to signal
	case task.CodeInvalid:
		return d.refused(ctx, c, err)
	case task.CodeConflict:
		return d.held()
	}
	return d.failed(ctx, whatOf(c), err)
}

// refused settles a command that Temporal will never accept. A task that cannot be started is closed.
func (d *delivery) refused(ctx context.Context, c RelayCommand, err error) bool {
	d.relay.cfg.Meter.Dropped(whatOf(c))
	d.alert(ctx, "refused by Temporal", c, err)
	if whatOf(c) == whatStart {
		return d.noted(ctx, d.relay.store.StartRefused(ctx, d.unit.TaskID, c.ID,
			"The task could not be started: Temporal refuses it for good."))
	}
	return d.over(ctx, c, task.ReceiptRefused, "Temporal refuses it")
}

// ready prepares a start. It returns false if the start has to wait.
func (d *delivery) ready(ctx context.Context, c RelayCommand) bool {
	if whatOf(c) != whatStart {
		return true
	}
	return (c.Kind != contract.CommandRetry || d.cleared(ctx)) && d.wakeReaper(ctx)
}

// cleared starts the cleanup of the sandboxes of earlier attempts, whose run may have been ended before it could. It
// returns false while a retry has to wait for a cleanup, since the next attempt begins with the work that it saves.
func (d *delivery) cleared(ctx context.Context) bool {
	left, err := d.relay.store.LeftSandboxes(ctx, d.unit.TaskID, d.relay.cfg.CleanupWait)
	if err != nil {
		return d.failed(ctx, whatStore, err)
	}
	wait := false
	for _, box := range left {
		wait = wait || box.Recent
		err := d.call(ctx, func(ctx context.Context) error { return d.relay.runs.StartCleanup(ctx, box.CleanupInput) })
		if err != nil { // the reaper does it later
			d.relay.log.WarnContext(ctx, "start cleanup failed, leaving it to the reaper", slog.String("sandbox_id", box.SandboxID), slog.Any("error", err))
		}
	}
	return !wait || d.held()
}

// wakeReaper wakes an idle reaper before a sandbox exists. It returns false if the start has to wait for that. A relay
// that died may have cleared the note without waking the reaper.
func (d *delivery) wakeReaper(ctx context.Context) bool {
	rested, err := d.relay.store.EndReaperRest(ctx)
	if err != nil {
		return d.failed(ctx, whatStore, err)
	}
	if !rested && !d.unit.Crashed {
		return true
	}
	if err = d.call(ctx, d.relay.runs.WakeReaper); err == nil {
		return true
	}
	again, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if noted := d.relay.store.SetReaperRests(again, true); noted != nil {
		d.stranded = true // the lease expires, and the next relay wakes the reaper
	}
	switch task.CodeOf(err) { //nolint:exhaustive // the rest are tried again
	case task.CodeNotFound, task.CodeInvalid: // no worker has created the schedule yet, which starts active
		d.alert(ctx, "reaper not woken", RelayCommand{}, err)
		return true
	}
	return d.failed(ctx, whatStart, err)
}

func (d *delivery) post(ctx context.Context, c RelayCommand) error {
	if whatOf(c) == whatCommand {
		return d.relay.runs.SignalCommand(ctx, d.unit.TaskID, contract.Command{ID: c.ID, Kind: c.Kind})
	}
	return d.relay.runs.StartTask(d.relay.cfg.Resume(ctx, c.Trace), contract.TaskInput{
		TaskID: d.unit.TaskID, CommandID: c.ID, Checkpoint: c.Checkpoint, Title: shortTitle(d.relay.cfg.Scrub(c.Title)),
	}, c.Kind == contract.CommandRetry)
}

// whatOf distinguishes commands that start a run from those that are signalled to a run.
func whatOf(c RelayCommand) string {
	if c.Kind == contract.CommandStart || (c.Kind == contract.CommandRetry && c.Final) {
		return whatStart
	}
	return whatCommand
}

func (d *delivery) over(ctx context.Context, c RelayCommand, r task.Receipt, reason string) bool {
	return d.noted(ctx, d.relay.store.CommandOver(ctx, c.ID, string(r), reason))
}

// noted reports whether the store has recorded the outcome. It notifies the caller that waits for the command.
func (d *delivery) noted(ctx context.Context, err error) bool {
	if err != nil {
		return d.failed(ctx, whatStore, err)
	}
	d.relay.bus.Wake(live.Task(d.unit.TaskID))
	return true
}

func (d *delivery) sendAdmitted(ctx context.Context) bool {
	if !d.unit.Admit {
		return true
	}
	granted, held, err := d.relay.store.SlotGranted(ctx, d.unit.TaskID)
	if err != nil {
		return d.failed(ctx, whatStore, err)
	}
	// If the acceptance itself granted the slot, in one transaction, every run of the task has known it from the
	// beginning.
	tell := held && !granted.Equal(d.begun)
	if tell {
		err = d.call(ctx, func(ctx context.Context) error { return d.relay.runs.SignalAdmitted(ctx, d.unit.TaskID) })
	}
	switch task.CodeOf(err) {
	case "", task.CodeGone, task.CodeNotFound: // a workflow that does not exist needs no slot
		if tell && err == nil {
			d.relay.cfg.Meter.Sent(whatAdmitted)
		}
	case task.CodeInvalid:
		d.relay.cfg.Meter.Dropped(whatAdmitted)
		d.alert(ctx, "admission refused by Temporal", RelayCommand{}, err)
	default:
		return d.failed(ctx, whatAdmitted, err)
	}
	d.settled.Told, d.settled.GrantedAt = true, granted
	return true
}

func (d *delivery) sendDigest(ctx context.Context) bool {
	if d.unit.SandboxID == "" || !d.unit.Room {
		return true
	}
	due, ok, err := d.relay.store.TakeDigest(ctx, d.unit)
	if err != nil {
		d.putBack(ctx, 0)
		return d.failed(ctx, whatStore, err)
	}
	if !ok {
		return true
	}
	err = d.call(ctx, func(ctx context.Context) error {
		return d.relay.runs.SignalDigest(ctx, d.unit.TaskID, due.Digest)
	})
	switch task.CodeOf(err) { //nolint:exhaustive // the rest are tried again
	case "":
		d.relay.cfg.Meter.Sent(whatDigest)
		d.settled.Digest, d.settled.Token = true, len(due.Milestones) > 0
		if err = d.relay.store.DigestSent(ctx, due); err == nil {
			return true
		}
	case task.CodeGone, task.CodeNotFound:
		return true // there is no run to signal; a later run reads from the store
	case task.CodeInvalid:
		d.relay.cfg.Meter.Dropped(whatDigest)
		d.alert(ctx, "digest refused by Temporal", RelayCommand{}, err)
		d.putBack(ctx, d.relay.cfg.MaxPause)
		return true
	}
	d.putBack(ctx, 0)
	return d.failed(ctx, whatDigest, err)
}

// putBack makes the events due again.
func (d *delivery) putBack(ctx context.Context, pause time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := d.relay.store.DigestFailed(ctx, d.unit.SandboxID, pause); err != nil {
		d.stranded = true
		d.relay.log.WarnContext(ctx, "reset digest failed", slog.String("task_id", d.unit.TaskID), slog.Any("error", err))
	}
}

// call makes one call to Temporal within its timeout.
func (d *delivery) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx)
}

// failed ends the delivery; the next one starts after a growing pause.
func (d *delivery) failed(ctx context.Context, what string, err error) bool {
	d.relay.cfg.Meter.Failed(what)
	d.missed = what != whatStore
	d.settled.Failures = d.unit.Failures + 1
	d.settled.Pause = growing(d.relay.cfg.FirstPause, d.settled.Failures, d.relay.cfg.MaxPause)
	d.settled.Error = task.MessageOf(err)
	d.relay.log.WarnContext(ctx, "relay delivery failed", slog.String("task_id", d.unit.TaskID),
		slog.Int("failures", d.settled.Failures), slog.Duration("retry_in", d.settled.Pause), slog.Any("error", err))
	return false
}

// held ends the delivery of a retry whose previous run or sandbox has not ended, which is not a failure.
func (d *delivery) held() bool {
	d.settled.Failures = d.unit.Failures + 1
	d.settled.Hold = growing(d.relay.cfg.FirstPause, d.settled.Failures, d.relay.cfg.MaxHold)
	return false
}

// alert logs a failure that needs an operator.
func (d *delivery) alert(ctx context.Context, what string, c RelayCommand, err error) {
	d.settled.Error = task.MessageOf(err)
	d.relay.log.ErrorContext(ctx, "relay entry dropped", slog.Bool("alert", true), slog.String("what", what), slog.String("task_id", d.unit.TaskID),
		slog.String("command_id", c.ID), slog.String("kind", c.Kind), slog.Any("error", err))
}

// growing returns first, doubled with each failure, at most longest.
func growing(first time.Duration, failures int, longest time.Duration) time.Duration {
	const most = 20
	return min(first<<min(max(failures-1, 0), most), longest)
}

// shortTitle returns one line of at most 120 bytes, cut between characters.
func shortTitle(title string) string {
	const most = 120
	return textcut.First(strings.Join(strings.Fields(strings.ToValidUTF8(title, "?")), " "), most)
}
