package claude

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/task"
)

// interruptWait is the time between an interrupt and the kill of the program.
const interruptWait = 3 * time.Second

// talk is the conversation with the program, across all its processes.
type talk struct {
	*continuous.Driver

	path  string
	place *place
	rec   *recorder
	prog  *program
	end   *turn // newest turn

	asking  []*pending               // requests that wait for a user; the first one is asked
	unheard map[string]inbox.Message // messages that were sent and not read, by UUID of the program's message
}

// turn is the end of a turn.
type turn struct {
	result      *line // nil: the turn ended without a result
	stopping    []inbox.Message
	interrupted bool
	stop        string // limit at which omoi stopped the turn; empty: none
	ended       bool   // the program has ended too
	exit        proc.Result
	late        <-chan time.Time
}

// said returns the text that ended the turn, without later text of background tasks.
func (e *turn) said() string {
	if e.result == nil {
		return ""
	}
	return e.result.Result
}

// take runs a turn with a text, and delivers messages to it. The error is that of ctx, or of a program that cannot
// start.
func (t *talk) take(ctx context.Context, text string, of inbox.Message) (*turn, error) {
	end := &turn{stop: t.reached()}
	if end.stop != "" {
		if of.ID != "" {
			t.Later = append(t.Later, of)
		}
		return end, nil
	}
	if err := t.ensure(ctx); err != nil {
		return end, err
	}
	t.Env.Doing.SetStatus(reporter.StatusRunning)
	t.say(text, of)
	more := t.Later // messages that came while no program ran
	t.Later = nil
	for _, m := range more {
		t.hear(end, m)
	}
	for limit := t.Time; !t.over(end); {
		select {
		case <-ctx.Done():
			t.halt()
			return end, ctx.Err()
		case m, ok := <-t.Receiver.Heard:
			if ok {
				t.hear(end, m)
			}
		case l := <-t.prog.notices:
			t.noticed(end, l)
		case <-limit:
			limit = nil // it stays closed
			t.stop(end, continuous.StopTime)
		case <-end.late:
			t.prog.stop()
		case <-t.prog.Drained:
			t.drain(end)
			end.ended, end.exit = true, t.prog.Result
		}
	}
	if end.ended && t.prog.Err != nil {
		return end, task.Invalid("agent", "Cannot start Claude Code: %s.", t.prog.Err)
	}
	t.stopped(end)
	return end, ctx.Err()
}

// over reports whether a turn has ended and no sent message is unread.
func (t *talk) over(end *turn) bool {
	return end.ended || (end.result != nil && len(t.unheard) == 0)
}

// ensure starts the program if it does not run.
func (t *talk) ensure(ctx context.Context) error {
	if t.prog != nil && !t.prog.over() {
		if t.Env.Config.Continuous || t.Limits.Turns == 0 || t.rec.now().used == 0 {
			return nil
		}
		t.halt() // a running program would count the turns of its next input from zero
	}
	t.place.Begun = exists(transcriptPath(t.Env, t.place.SessionID))
	t.rec.begin()
	t.sayAgain()
	var err error
	t.prog, err = start(ctx, t.Env, proc.Command{
		Args: append([]string{t.path}, t.arguments()...), Dir: t.Env.Config.Workspace,
		Env: environ(t.Env, t.Vars), Grace: min(t.Env.Config.Grace/4, time.Second),
	}, t.rec.take)
	t.Env.Keep(transcriptPath(t.Env, t.place.SessionID), t.place.SessionID)
	return err
}

// say sends a text to the program; of is the message that it comes from, if any.
func (t *talk) say(text string, of inbox.Message) {
	id := newUUID()
	t.unheard[id] = of
	if of.ID != "" {
		t.rec.asked.Store(id, of.ID)
	}
	if err := t.prog.say(id, text); err != nil {
		t.Env.Log.Warn("write message to claude code failed, repeating after its restart", slog.Any("error", err))
	}
}

// hear delivers a message to the current turn.
func (t *talk) hear(end *turn, m inbox.Message) {
	if m.Type == inbox.TypeInterrupt {
		end.stopping = append(end.stopping, m)
		t.stop(end, "")
		return
	}
	if !t.answered(m) {
		t.say(Worded(m), m)
	}
}

// Worded returns a message with its sender for the model, unless the sender is a user.
func Worded(m inbox.Message) string {
	switch {
	case m.SenderKind == "agent":
		return "Another agent writes (" + m.SenderID + "):\n" + m.Content
	case m.Type == "guardian_nudge":
		return "Whoever watches over this work says:\n" + m.Content
	}
	return m.Content
}

// stop interrupts the turn, and kills the program if the turn does not end in time.
func (t *talk) stop(end *turn, why string) {
	end.stop = cmp.Or(end.stop, why)
	if end.late != nil {
		return
	}
	end.late = time.After(interruptWait)
	end.result = nil // an older result says nothing about the stop
	t.asking = nil
	t.rec.looks.hurry()
	if err := t.prog.interrupt(newUUID()); err != nil {
		t.prog.stop()
	}
}

// noticed handles a line that matters to the conversation.
func (t *talk) noticed(end *turn, l *line) {
	switch {
	case l.Request != nil:
		if end.stop == "" && len(end.stopping) == 0 {
			t.requested(l)
		}
		return
	case l.Type == "result":
		end.result = l
		if l.Subtype == "success" && !l.IsError && len(t.unheard) == 0 {
			end.stop = "" // done before the stop, and no other turn follows
		}
		t.Save()
	case l.Replay:
		if m, ok := t.unheard[l.UUID]; ok {
			delete(t.unheard, l.UUID)
			if m.ID != "" {
				t.Env.Inbox.Used(m.ID)
			}
			t.dropOld(end)
		}
	}
	if len(t.asking) > 0 && (l.Type == "user" || l.ends()) {
		t.ask() // other work of the program has ended the wait for omoi
	}
	if l.Type == "user" && end.late == nil {
		if reason := t.reached(); reason == continuous.StopCost || reason == continuous.StopTurns && !t.rec.now().calling {
			t.stop(end, reason)
		}
	}
}

// dropOld drops a result that is older than the last message that the program read, because the message has started
// another turn.
func (t *talk) dropOld(end *turn) {
	if end.result == nil || end.stop != "" {
		return
	}
	t.stopped(end)
	*end = turn{}
}

func (t *talk) drain(end *turn) {
	for {
		select {
		case l := <-t.prog.notices:
			t.noticed(end, l)
		default:
			return
		}
	}
}

// stopped reports each interrupt once.
func (t *talk) stopped(end *turn) {
	for _, m := range end.stopping {
		end.interrupted = true
		t.Env.Interrupted(m)
	}
	t.rec.looks.calm()
	if end.ended {
		t.asking = nil
		t.rec.broken()
	}
	t.Save()
}

// halt kills the program with its children, and reports unfinished text.
func (t *talk) halt() {
	if t.prog == nil || t.prog.over() {
		return
	}
	t.prog.stop()
	for !t.prog.over() {
		select {
		case <-t.prog.notices:
		case <-t.prog.Drained:
		}
	}
	t.rec.broken()
	t.Save()
}

// Save writes the state and counts the working time until now.
func (t *talk) Save() {
	if err := t.rec.save(); err != nil {
		t.Env.Log.Warn("save agent state failed, a restart continues from an older one", slog.Any("error", err))
	}
}

// reached returns the limit that allows no further request to the model; empty: none.
func (t *talk) reached() string {
	switch {
	case t.Limits.Cost > 0 && t.rec.beyond(t.Limits.Cost):
		return continuous.StopCost
	case t.Limits.Turns > 0 && t.rec.now().used >= t.Limits.Turns:
		return continuous.StopTurns
	}
	return ""
}

// sayAgain keeps unread messages for the next process.
func (t *talk) sayAgain() {
	for _, m := range t.unheard {
		if m.ID != "" {
			t.Later = append(t.Later, m)
		}
	}
	t.unheard = map[string]inbox.Message{}
}

// Next waits for a message. Lines of background tasks are only recorded.
func (t *talk) Next(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error) {
	late := time.After(patience)
	past := &turn{late: late} // a turn without anything to stop
	for {
		select {
		case <-ctx.Done():
			t.halt()
			return m, false, ctx.Err()
		case <-late:
			return m, false, nil
		case m, ok = <-t.Receiver.Heard:
			if !t.answered(m) {
				return m, ok, ctx.Err()
			}
		case l := <-t.prog.notices:
			t.noticed(past, l)
		}
	}
}

// newUUID returns a UUID, which the program requires.
func newUUID() string { return sessionID(task.NewID()) }
