package taskcmd

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/wait"
)

// rawLogs prints what the agent of a task printed in its sandbox.
type rawLogs struct {
	*session

	api    *client.Client
	id     string // of the task
	follow bool
}

func (s *session) rawLogs(ctx context.Context, api *client.Client, t client.Task, follow bool) error {
	if len(t.Attempts) == 0 && !follow {
		s.hint("No log yet: no sandbox of this task has begun. Next: omoi logs --raw -f %s", render.Short(t.ID))
		return nil
	}
	r := &rawLogs{session: s, api: api, id: t.ID, follow: follow}
	if !follow {
		return r.sandbox(ctx, t.Attempts[len(t.Attempts)-1].SandboxID)
	}
	return r.attempts(ctx, len(t.Attempts))
}

// attempts follows one sandbox after the other until the task has ended; the newest comes first.
func (r *rawLogs) attempts(ctx context.Context, from int) error {
	for next := max(from-1, 0); ; {
		t, err := r.api.Task(ctx, r.id)
		switch {
		case err != nil:
			return err
		case next < len(t.Attempts):
			if err := r.sandbox(ctx, t.Attempts[next].SandboxID); err != nil {
				return err
			}
			next++
		case t.Status.Final():
			return nil
		default:
			if err := wait.For(ctx, time.Second); err != nil {
				return exit.With(exit.Interrupted, nil)
			}
		}
	}
}

// longestBacklog is after how many answers without a look of a worker nobody waits for one: the agent prints faster than is read.
const longestBacklog = 20

// sandbox prints one log: as far as it goes when it is asked for, or until its end.
func (r *rawLogs) sandbox(ctx context.Context, id string) error {
	const poll = 20 * time.Second
	delay := time.Duration(0)
	if r.follow {
		delay = poll
	}
	after, end := int64(0), int64(-1)
	for n := 1; ; n++ {
		part, err := r.api.SandboxLog(ctx, id, after, delay)
		if err != nil {
			return err
		}
		if err := r.print(part, after); err != nil {
			return err
		}
		if end < 0 && (!part.Stale || n == longestBacklog) {
			end = part.End // what comes later has not been asked for
		}
		caughtUp := part.Next == after || end >= 0 && part.Next >= end
		after = part.Next
		if part.Ended || caughtUp && !r.follow {
			r.told(part)
			return nil
		}
	}
}

func (r *rawLogs) print(part client.SandboxLog, after int64) error {
	if *r.JSON {
		return r.printLine(part)
	}
	if part.First > after {
		r.hint("[%s before this are not kept]", render.Bytes(part.First-after))
	}
	text := part.Text
	if isTerminal(r.Stdout) {
		text = cleanLines(text)
	}
	_, err := io.WriteString(r.Stdout, text)
	return err
}

// cleanLines keeps what an agent printed from steering a person's terminal.
func cleanLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.TrimSuffix(line, "\n"), ""
		if body != line {
			end = "\n"
		}
		out.WriteString(render.Clean(strings.ReplaceAll(body, "\t", "    ")) + end)
	}
	return out.String()
}

// told says why there may be more than was printed.
func (r *rawLogs) told(part client.SandboxLog) {
	switch {
	case part.Stale:
		r.hint("No worker has read this sandbox just now: the log may be incomplete. Next: omoi host list")
	case part.Next == 0:
		r.hint("The log is empty. Next: omoi logs %s", render.Short(r.id))
	}
}
