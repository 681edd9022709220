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

// Logs stores sandbox logs, and which logs are requested.
type Logs interface {
	// WantLog requests a log for the duration patience; asked is the current time of the database.
	WantLog(ctx context.Context, sandboxID string, patience time.Duration) (asked time.Time, err error)
	// LogState reports whether a log was read to its end since asked, and whether it is complete.
	LogState(ctx context.Context, sandboxID string, asked time.Time) (fresh, ended bool, err error)
	LogParts(ctx context.Context, sandboxID string, after, size int64) ([]sandboxlog.Part, error)
	// LogEnd returns the end offset of the stored log.
	LogEnd(ctx context.Context, sandboxID string) (int64, error)
}

const (
	logBytes   = 1 << 20          // of one response
	logWanted  = 30 * time.Second // how long a worker keeps reading a requested log
	logEvery   = 250 * time.Millisecond
	freshWait  = 3 * time.Second // maximum wait for a worker to read
	maxLogWait = 25 * time.Second
)

type sandboxLogIn struct {
	SandboxPath

	After int64  `query:"after" minimum:"0" doc:"Byte offset behind which to read, the next of the previous answer; 0: from the beginning of what is kept"`
	Wait  string `query:"wait" doc:"Long poll: maximum time to wait for more output, for example 20s or 20; at most 25s, default 0"`
}

// sandboxLog returns the log after an offset. While the sandbox exists, the request makes a worker read its log. A
// reader that has all stored output waits for more.
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

// logLook is one request for a log.
type logLook struct {
	api   *API
	box   task.Sandbox
	after int64
	asked time.Time
	fresh bool // a worker has read the log since, or the log is complete
	ended bool
	end   int64 // end offset of the stored log
	parts []sandboxlog.Part
}

// wake makes a worker read the log, and waits briefly if nothing new is stored.
func (l *logLook) wake(ctx context.Context) (err error) {
	if l.ended = l.box.State == task.SandboxGone || l.box.State == task.SandboxLost; l.ended {
		l.fresh = true
		return l.api.deps.EventLog.EventsKept(ctx, l.box.ID)
	}
	if l.asked, err = l.api.deps.Logs.WantLog(ctx, l.box.ID, logWanted); err != nil {
		return err
	}
	if l.box.State == task.SandboxIntended || l.box.State == task.SandboxCreating {
		l.fresh = true // the log does not exist yet
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

// read reads the stored output.
func (l *logLook) read(ctx context.Context) (err error) {
	if !l.ended {
		err = l.state(ctx) // before the pieces, so that all output before the end is seen
	}
	if err == nil {
		l.parts, err = l.api.deps.Logs.LogParts(ctx, l.box.ID, l.after, logBytes)
	}
	if err == nil && len(l.parts) > 0 {
		l.end, err = l.api.deps.Logs.LogEnd(ctx, l.box.ID)
	}
	return err
}

// await waits until there is new output or the log is complete.
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
