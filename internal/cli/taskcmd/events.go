package taskcmd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *session) sandboxEvents() *cobra.Command {
	f := client.EventFilter{}
	cmd := s.boxVerb("events", "List the newest stored events of a sandbox, oldest first",
		func(ctx context.Context, api *client.Client, box client.Sandbox) error {
			return s.events(ctx, api, box.ID, f)
		})
	cmd.Long = `List the newest events of a sandbox, or of a task's newest one, as they are stored: number, time, type and fields.
--json prints each whole, as one JSON object a line. omoi logs shows and follows a task's events for people.`
	cmd.Flags().IntVarP(&f.Limit, "limit", "n", 50, "how many at most, up to 500")
	cmd.Flags().StringVar(&f.Type, "type", "", "only events of this `type`, as agent.tool_use")
	return cmd
}

func (s *session) events(ctx context.Context, api *client.Client, id string, f client.EventFilter) error {
	found, err := api.NewestEvents(ctx, id, f)
	if err != nil {
		return err
	}
	if len(found.Events) == 0 {
		if _, err := api.EventCounts(ctx, id); task.CodeOf(err) == task.CodeGone { // the list of removed events is empty
			return err
		}
		s.hint("No such events yet in sandbox %s.", id)
	}
	slices.Reverse(found.Events)
	for _, e := range found.Events {
		if *s.JSON {
			if err := s.printLine(e); err != nil {
				return err
			}
			continue
		}
		_, number, _ := strings.Cut(e.ID, ":")
		s.say("%6s  %s  %-24s %s", number, e.CreatedAt.Local().Format("15:04:05"), e.EventType, render.OneLine(cmp.Or(render.Brief(e.EventType, e.EventData), string(e.EventData)), 100))
	}
	return nil
}
