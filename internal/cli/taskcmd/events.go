package taskcmd

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// boxEvents lists the events of one sandbox.
type boxEvents struct {
	*session

	api    *client.Client
	id     string
	kind   string
	limit  int
	follow bool
	last   int64 // number of the newest that was printed
}

// newEvents is `omoi events`, the short form of `omoi sandbox events`.
func newEvents(s *session) *cobra.Command {
	cmd := s.sandboxEvents()
	cmd.Hidden = true
	return cmd
}

func (s *session) sandboxEvents() *cobra.Command {
	e := &boxEvents{session: s}
	cmd := s.boxVerb("events", "List the newest events of a sandbox as they are stored, oldest of them first",
		func(ctx context.Context, api *client.Client, box client.Sandbox) error { return e.do(ctx, api, box) })
	cmd.Long = `List the newest events of a sandbox, or of a task's newest one, as they are stored: number, time, type, and what
they tell in short. --json prints each whole, as one JSON object a line. omoi logs shows a task's events for people.`
	limitFlag(cmd, &e.limit, 50)
	cmd.Flags().StringVar(&e.kind, "type", "", "only events of this `type`, as agent.tool_use")
	cmd.Flags().BoolVarP(&e.follow, "follow", "f", false, "continue until the sandbox has ended")
	return cmd
}

func (e *boxEvents) do(ctx context.Context, api *client.Client, box client.Sandbox) (err error) {
	e.api, e.id = api, box.ID
	if err := e.print(ctx, e.limit); err != nil {
		return err
	}
	for e.follow {
		if box, err = e.api.Sandbox(ctx, e.id); err != nil {
			return err
		}
		if err := e.print(ctx, 0); err != nil || box.EndedAt != nil {
			return err
		}
		if wait.For(ctx, time.Second) != nil {
			return exit.With(exit.Interrupted, nil)
		}
	}
	if e.last == 0 {
		if _, err := e.api.EventCounts(ctx, e.id); task.CodeOf(err) == task.CodeGone { // the list of removed events is empty
			return err
		}
		e.hint("No such events yet in sandbox %s. Next: omoi sandbox events %s -f", e.id, render.Short(e.id))
	}
	return nil
}

// print shows the newest events behind the last one that was shown, at most so many; 0 is all.
func (e *boxEvents) print(ctx context.Context, most int) error {
	found, err := e.read(ctx, most)
	if err != nil {
		return err
	}
	slices.Reverse(found)
	for _, event := range found {
		e.last = max(e.last, numberOf(event))
		if e.json {
			if err := e.printLine(event); err != nil {
				return err
			}
			continue
		}
		e.say("%6d  %s  %-24s %s", numberOf(event), event.CreatedAt.Local().Format("15:04:05"), event.EventType, tells(event))
	}
	return nil
}

func (e *boxEvents) read(ctx context.Context, most int) ([]client.SandboxEvent, error) {
	const page = 500
	var out []client.SandboxEvent
	f := client.EventFilter{Type: e.kind}
	for {
		f.Limit = page
		if most > 0 {
			f.Limit = min(most-len(out), page)
		}
		got, err := e.api.NewestEvents(ctx, e.id, f)
		if err != nil {
			return nil, err
		}
		for _, event := range got.Events {
			if numberOf(event) <= e.last {
				return out, nil
			}
			out = append(out, event)
		}
		if got.NextCursor == nil || most > 0 && len(out) >= most {
			return out, nil
		}
		f.Cursor = *got.NextCursor
	}
}

// numberOf is an event's number in its sandbox.
func numberOf(e client.SandboxEvent) int64 {
	_, number, _ := strings.Cut(e.ID, ":")
	n, _ := strconv.ParseInt(number, 10, 64) // 0 sorts before all
	return n
}

// tells is what an event says in short: as the log shows it, and of what the log leaves out its words.
func tells(e client.SandboxEvent) string {
	if said := render.Brief(e.EventType, e.EventData); said != "" {
		return said
	}
	fields := map[string]any{}
	_ = json.Unmarshal(e.EventData, &fields) // what has another form tells nothing
	var parts []string
	for _, name := range []string{"tool", "current_tool", "file_path", "status", "content", "error", "final_output", "result", "reason"} {
		if text, ok := fields[name].(string); ok && text != "" {
			parts = append(parts, text)
		}
	}
	return render.OneLine(strings.Join(parts, " "), 100)
}
