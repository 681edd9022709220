package taskcmd

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

func newLogs(s *session) *cobra.Command {
	var follow, beats, raw bool
	var after string
	cmd := s.taskVerb("logs <task>", "Show a task's events, one line each; -f follows them", func(ctx context.Context, api *client.Client, t client.Task) error {
		if raw {
			return s.rawLogs(ctx, api, t, follow)
		}
		f := &follower{session: s, api: api, id: t.ID, cursor: after, lines: s.lines(t, follow && !t.Status.Final())}
		f.lines.Heartbeats = beats
		return f.logs(ctx, follow)
	})
	cmd.Long = `Show the events of a task, one line each; -f continues until the task has ended. Long output is cut. --json prints each
event in full, as one JSON object per line.

--raw shows the sandbox log of the newest attempt instead: stdout and stderr of its agent, with known secrets masked. With
--json each part of the log is one JSON object per line, with its text in "text".`
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if raw && (after != "" || beats) {
			return exit.Usagef("--raw shows no events: omit --after and --heartbeats")
		}
		return nil
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until the task has ended")
	cmd.Flags().StringVar(&after, "after", "", "continue after this `cursor`, which an interrupted command prints, or after the event <attempt>:<sequence>")
	cmd.Flags().BoolVar(&raw, "raw", false, "show the sandbox log: stdout and stderr of the agent")
	cmd.Flags().BoolVar(&beats, "heartbeats", false, "include heartbeats")
	return cmd
}

// lines returns a renderer for the events of a task.
func (s *session) lines(t client.Task, live bool) *render.Lines {
	return &render.Lines{Style: s.style(), Start: t.CreatedAt, Task: render.Name(t.Key, t.ID), Live: live}
}

func (f *follower) logs(ctx context.Context, follow bool) error {
	if !follow {
		return f.stored(ctx)
	}
	if err := f.follow(ctx); err != nil {
		return f.stopped(ctx, err)
	}
	if *f.JSON {
		return nil
	}
	t, err := f.api.Task(ctx, f.id)
	if err != nil {
		return err
	}
	f.say("%s", f.lines.Line(endOf(t), f.style().Status(t.Status), shortWhy(t)))
	return nil
}

// stored prints the events that are stored now.
func (f *follower) stored(ctx context.Context) error {
	after := f.cursor
	for {
		page, err := f.api.Events(ctx, f.id, f.cursor, 0)
		if err != nil {
			return err
		}
		if err := f.print(page); err != nil {
			return err
		}
		if len(page.Items) == 0 || page.NextCursor == nil {
			f.nothing(after, page.TaskStatus)
			return nil
		}
	}
}

// nothing prints a hint if the task has no events.
func (f *follower) nothing(after string, status task.Status) {
	switch id := f.lines.Task; {
	case f.seen > 0 || after != "":
	case status.Final():
		f.hint("No events: the task is %s, and no agent reported any. Next: omoi show %s", status, id)
	default:
		f.hint("No events yet; the task is %s. Next: omoi logs -f %s", status, id)
	}
}

// rawLogs prints sandbox logs of a task.
type rawLogs struct {
	*session

	api    *client.Client
	id     string // task ID
	name   string // key or short ID of the task
	follow bool
}

func (s *session) rawLogs(ctx context.Context, api *client.Client, t client.Task, follow bool) error {
	if len(t.Attempts) == 0 && !follow {
		s.note("No log yet: the task has no sandbox. Next: omoi logs --raw -f %s", render.Name(t.Key, t.ID))
		return nil
	}
	r := &rawLogs{session: s, api: api, id: t.ID, name: render.Name(t.Key, t.ID), follow: follow}
	if !follow {
		return r.sandbox(ctx, t.Attempts[len(t.Attempts)-1].SandboxID)
	}
	return r.attempts(ctx, len(t.Attempts))
}

// attempts prints the logs of one sandbox after the other until the task has ended, starting with attempt number from.
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

// longestBacklog is the number of stale answers after which the end of the log is fixed. The agent then writes faster
// than workers read.
const longestBacklog = 20

// sandbox prints the log of one sandbox: up to its current end, or with follow until the log ends.
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
			end = part.End // later output is not part of this request
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
		r.note("[the first %s are no longer stored]", render.Bytes(part.First-after))
	}
	text := part.Text
	if isTerminal(r.Stdout) {
		text = cleanLines(text)
	}
	_, err := io.WriteString(r.Stdout, text)
	return err
}

// cleanLines makes the output of an agent safe for a terminal.
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

// told prints why the log may be incomplete or empty.
func (r *rawLogs) told(part client.SandboxLog) {
	switch {
	case part.Stale:
		r.note("The log may be incomplete: no worker has read it recently. Next: omoi host list")
	case part.Next == 0:
		r.note("The log is empty. Next: omoi logs %s", r.name)
	}
}
