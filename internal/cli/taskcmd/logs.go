package taskcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
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
	cmd.Long = `Show what a task's agent does, one line an event; -f goes on until the task has ended. Long output is cut:
--json prints every event whole, as one JSON object a line. --raw shows what the agent printed in its sandbox
instead, of the newest attempt, while it lives and after its end; known secrets are taken out. With --json each
stretch of it is one JSON object a line, its text in "text".`
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if raw && (after != "" || beats) {
			return exit.Usagef("--raw shows no events: leave --after and --heartbeats out")
		}
		return nil
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "stay until the task has ended")
	cmd.Flags().StringVar(&after, "after", "", "continue after this cursor, as an interrupted command printed it, or after the event <attempt>:<sequence>")
	cmd.Flags().BoolVar(&raw, "raw", false, "what the agent printed in its sandbox")
	cmd.Flags().BoolVar(&beats, "heartbeats", false, "show heartbeats too")
	return cmd
}

// lines writes the events of a task.
func (s *session) lines(t client.Task, live bool) *render.Lines {
	return &render.Lines{Style: s.style(), Start: t.CreatedAt, Task: render.Short(t.ID), Live: live}
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

// stored prints what is there now.
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
		if len(page.Events) == 0 || page.Done {
			f.nothing(after, page.TaskStatus)
			return nil
		}
	}
}

// nothing says so where a task has no events at all.
func (f *follower) nothing(after string, status task.Status) {
	switch id := render.Short(f.id); {
	case f.seen > 0 || after != "":
	case status.Final():
		f.hint("No events: it is %s, and no agent has said anything. Next: omoi show %s", status, id)
	default:
		f.hint("No events yet; the task is %s. Next: omoi logs -f %s", status, id)
	}
}
