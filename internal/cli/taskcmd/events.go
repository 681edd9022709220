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
	"github.com/omoi-dev/omoi/internal/pause"
	"github.com/omoi-dev/omoi/internal/task"
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

func newEvents(s *session) *cobra.Command {
	e := &boxEvents{session: s}
	cmd := &cobra.Command{
		Use:   "events <sandbox>",
		Short: "List the newest events of a sandbox as they are stored, oldest of them first",
		Long: `List the newest events of a sandbox, or of a task's newest one, as they are stored: number, time, type, and what
they tell in short. --json prints each whole, as one JSON object a line. omoi logs shows a task's events for people.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("%s takes one sandbox, or a task: its id or 4 or more characters of it (omoi sandboxes --recent)", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: s.completeTasks,
		RunE:              func(cmd *cobra.Command, args []string) error { return e.do(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&e.kind, "type", "", "only events of this `type`, as agent.tool_use")
	cmd.Flags().IntVarP(&e.limit, "limit", "n", 50, "how many; 0 is all of them")
	cmd.Flags().BoolVarP(&e.follow, "follow", "f", false, "go on until the sandbox has ended")
	return cmd
}

func (e *boxEvents) do(ctx context.Context, ref string) (err error) {
	if e.limit < 0 {
		return exit.Usagef("-n %d: give how many events to list, or 0 for all of them", e.limit)
	}
	if e.api, err = e.session.api(); err != nil {
		return err
	}
	box, err := anyBox(ctx, e.api, ref)
	if err != nil {
		return err
	}
	e.id = box.ID
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
		if pause.For(ctx, time.Second) != nil {
			return exit.With(exit.Interrupted, nil)
		}
	}
	if e.last == 0 {
		if _, err := e.api.EventCounts(ctx, e.id); task.CodeOf(err) == task.CodeGone { // the list of removed events is empty
			return err
		}
		e.hint("No such events yet in sandbox %s. Next: omoi events %s -f", e.id, render.Short(e.id))
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

// anyBox resolves what a person typed for a sandbox, also one that is gone: its id or a part of it, or its task.
func anyBox(ctx context.Context, api *client.Client, ref string) (client.Sandbox, error) {
	if ref == "-" {
		return newestBox(ctx, api, ref)
	}
	part := strings.TrimPrefix(strings.ToLower(ref), task.SandboxNamePrefix)
	if box, err := api.Sandbox(ctx, part); err == nil || task.CodeOf(err) != task.CodeNotFound {
		return box, err
	}
	var hits []client.Sandbox
	if len(part) >= minFragment {
		boxes, _, err := collect(0, func(limit int, cursor string) (client.Page[client.Sandbox], error) {
			return api.Sandboxes(ctx, client.SandboxFilter{Limit: limit, Cursor: cursor})
		})
		if err != nil {
			return client.Sandbox{}, err
		}
		for _, b := range boxes {
			if partOf(b.ID, part) {
				hits = append(hits, b)
			}
		}
	}
	switch len(hits) {
	case 0:
		return newestBox(ctx, api, ref)
	case 1:
		return hits[0], nil
	}
	return client.Sandbox{}, exit.Usagef("%q fits %d sandboxes; give more of the id (omoi sandboxes --all lists them)", ref, len(hits))
}

// newestBox is the newest sandbox of a task.
func newestBox(ctx context.Context, api *client.Client, ref string) (client.Sandbox, error) {
	id, err := findTask(ctx, api, ref)
	if code := task.CodeOf(err); code == task.CodeNotFound || exit.Code(err) == exit.Usage && ref != "-" {
		return client.Sandbox{}, task.Errorf(task.CodeNotFound, "No sandbox and no task begins or ends with %q. Next: omoi sandboxes --recent", ref)
	}
	if err != nil {
		return client.Sandbox{}, err
	}
	page, err := api.Sandboxes(ctx, client.SandboxFilter{TaskID: id, Limit: 1})
	if err == nil && len(page.Items) == 0 {
		err = task.Errorf(task.CodeNotFound, "Task %s has had no sandbox yet. Next: omoi why %s", render.Short(id), render.Short(id))
	}
	if err != nil {
		return client.Sandbox{}, err
	}
	return page.Items[0], nil
}
