package api

import (
	"context"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
	"github.com/omoi-dev/omoi/internal/task"
)

// Logs stores sandbox logs, and which of them are wanted.
type Logs interface {
	// WantLog has the log of a sandbox read for a while; asked is now by the database's clock.
	WantLog(ctx context.Context, sandboxID string, patience time.Duration) (asked time.Time, err error)
	// LogState tells whether a log was read to its end since asked, and whether it has ended.
	LogState(ctx context.Context, sandboxID string, asked time.Time) (fresh, ended bool, err error)
	LogParts(ctx context.Context, sandboxID string, after, size int64) ([]sandboxlog.Part, error)
	// LogEnd is up to where it is stored.
	LogEnd(ctx context.Context, sandboxID string) (int64, error)
}

const (
	logBytes   = 1 << 20          // of one answer
	logWanted  = 30 * time.Second // how long a log is read for after somebody has asked
	logEvery   = 250 * time.Millisecond
	freshWait  = 3 * time.Second // how long a worker may take to have a look
	maxLogWait = 25 * time.Second
)

type sandboxLogIn struct {
	SandboxPath

	After int64  `query:"after" minimum:"0" doc:"Byte offset behind which to read, the next of the previous answer; 0: from the beginning of what is kept"`
	Wait  string `query:"wait" doc:"Long poll: maximum time to wait for more output, for example 20s or 20; at most 25s, default 0"`
}

// sandboxLog returns what is printed behind after. While the sandbox lives, a worker that can
// reach it is asked to look; who has read all that is stored waits for that.
func (a *API) sandboxLog(ctx context.Context, in *sandboxLogIn) (*bodyOut[client.SandboxLog], error) {
	wait, err := a.waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	organization, err := a.organizationOf(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	box, err := a.deps.Sandboxes.SandboxRow(ctx, organization, in.SandboxID, a.cfg.Open)
	if err == nil && !box.Machine() {
		err = task.Errorf(task.CodeNotFound, "Sandbox %s has no log: its agent runs outside of omoi.", box.ID)
	}
	if err != nil {
		return nil, err
	}
	look := logLook{api: a, box: box, after: in.After}
	if err := look.wake(ctx); err != nil {
		return nil, err
	}
	err = look.await(ctx, patience{wait: min(wait.wait, maxLogWait), every: logEvery})
	return body(look.answer(), err)
}

// logLook is one look at a log.
type logLook struct {
	api   *API
	box   task.Sandbox
	after int64
	asked time.Time
	fresh bool // a worker has looked since, or need not
	ended bool
	end   int64 // up to where it is stored
	parts []sandboxlog.Part
}

// wake has a worker look, and gives it a moment where nothing is stored that is not known.
func (l *logLook) wake(ctx context.Context) (err error) {
	if l.ended = l.box.State == task.SandboxGone || l.box.State == task.SandboxLost; l.ended {
		l.fresh = true
		return l.api.deps.EventLog.EventsKept(ctx, l.box.ID)
	}
	if l.asked, err = l.api.deps.Logs.WantLog(ctx, l.box.ID, logWanted); err != nil {
		return err
	}
	if l.box.State == task.SandboxIntended || l.box.State == task.SandboxCreating {
		l.fresh = true // there is nothing to read yet
		return nil
	}
	return l.api.poll(ctx, live.Sandbox(l.box.ID), patience{wait: freshWait, every: logEvery}, func() (bool, error) {
		err := l.read(ctx)
		return l.fresh || len(l.parts) > 0, err
	})
}

func (l *logLook) state(ctx context.Context) error {
	fresh, ended, err := l.api.deps.Logs.LogState(ctx, l.box.ID, l.asked)
	l.fresh, l.ended = l.fresh || fresh || ended, l.ended || ended
	return err
}

// read reads what is stored.
func (l *logLook) read(ctx context.Context) (err error) {
	if !l.ended {
		err = l.state(ctx) // before the parts: what is stored at the end is seen with it
	}
	if err == nil {
		l.parts, err = l.api.deps.Logs.LogParts(ctx, l.box.ID, l.after, logBytes)
	}
	if err == nil && len(l.parts) > 0 {
		l.end, err = l.api.deps.Logs.LogEnd(ctx, l.box.ID)
	}
	return err
}

// await reads until there is something new, or the end.
func (l *logLook) await(ctx context.Context, p patience) error {
	if len(l.parts) > 0 {
		return nil
	}
	return l.api.poll(ctx, live.Sandbox(l.box.ID), p, func() (bool, error) {
		err := l.read(ctx)
		return l.ended || len(l.parts) > 0, err
	})
}

func (l *logLook) answer() client.SandboxLog {
	out := client.SandboxLog{SandboxID: l.box.ID, First: l.after, Next: l.after, Stale: !l.fresh}
	var text strings.Builder
	for n, p := range l.parts {
		if n == 0 {
			out.First = max(p.First, l.after)
		}
		out.Next = p.Last
		text.WriteString(strings.ToValidUTF8(string(p.Text), "\uFFFD"))
	}
	out.Text, out.End = text.String(), max(l.end, out.Next)
	out.Ended = l.ended && out.Next == out.End
	return out
}
