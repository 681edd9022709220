package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newSandbox(s *session) *cobra.Command {
	cmd := noun("sandbox", "List, inspect, enter and delete sandboxes",
		s.sandboxList(), s.sandboxShow(), s.sandboxEvents(), s.sandboxShell(), s.sandboxExec(),
		s.sandboxesCleanup(), s.sandboxPrune())
	cmd.Aliases = []string{"sandboxes"}
	return cmd
}

// recentBoxes is the number of sandboxes that --recent lists.
const recentBoxes = 20

func (s *session) sandboxList() *cobra.Command {
	var all, recent bool
	cmd := s.verb("list", "List sandboxes whose deletion is not verified", NoArgs, func(ctx context.Context, api *client.Client, _ []string) error {
		most := 0
		if recent {
			most = recentBoxes
		}
		boxes, err := listBoxes(ctx, api, client.SandboxFilter{Unverified: !all && !recent}, most)
		return s.answer(boxes, err, func() {
			none := "No sandboxes yet. Next: omoi run --help"
			if !all && !recent {
				none = "No active sandboxes: the deletion of all others is verified. Next: omoi sandbox list --all"
			}
			s.showSandboxes(boxes, none)
			if detail := down(ctx, api, "sandboxes"); detail != "" { // cleanups that need an operator
				s.note("%s %s", StyleOf(s.Stderr, s.Env).Red("ALERT:"), render.OneLine(detail, 1000))
			}
		})
	})
	cmd.Flags().BoolVarP(&all, "all", "a", false, "include deleted sandboxes")
	cmd.Flags().BoolVar(&recent, "recent", false, "the newest 20, including deleted sandboxes")
	return cmd
}

func (s *session) sandboxShow() *cobra.Command {
	return s.boxVerb("show", "Show a sandbox: its task, times, cost, transport and salvage", func(_ context.Context, _ *client.Client, box client.Sandbox) error {
		return s.answer(box, nil, func() {
			s.showStub(box)
			s.say("  %-14s%s", "task", taskOf(box))
			s.say("  %-14s%s", "isolation", render.Clean(strings.Join(box.Isolation, ", ")))
		})
	})
}

func (s *session) showSandboxes(boxes []client.Sandbox, none string) {
	list(s, boxes, none, "SANDBOX|PROVIDER|TASK|STATE|LIFETIME|DELETION VERIFIED|SALVAGE|COST", func(b client.Sandbox) []string {
		return []string{
			render.Short(b.ID), b.Provider, taskOf(b), s.state(b.State),
			render.Elapsed(time.Duration(b.SecondsAlive * float64(time.Second))), verified(b), saved(b.Salvage), cmp.Or(costOf(b), "-"),
		}
	})
}

// taskOf renders the task and attempt of a sandbox; "-" for an unmanaged one.
func taskOf(b client.Sandbox) string {
	if b.TaskID == "" {
		return "-"
	}
	return fmt.Sprintf("%s #%d", render.Name(b.TaskKey, b.TaskID), b.Attempt)
}

func (s *session) state(state task.SandboxState) string {
	switch state {
	case task.SandboxGone:
		return s.style().Green(string(state))
	case task.SandboxLost:
		return s.style().Red(string(state))
	case task.SandboxIntended:
		return s.style().Yellow("requested")
	case task.SandboxCreating, task.SandboxRunning, task.SandboxDeleting:
	}
	return s.style().Yellow(string(state))
}

func verified(b client.Sandbox) string {
	switch {
	case b.VerifiedAt != nil:
		return b.VerifiedAt.Local().Format("15:04:05")
	case !b.Machine():
		return "nothing to verify"
	}
	if b.GoneAt != nil {
		return "not yet, deleted"
	}
	return "not yet"
}

// saved renders the result of the salvage.
func saved(v *task.Salvage) string {
	switch {
	case v == nil:
		return "-"
	case v.Kind == task.SalvageLost && v.LostSince != nil:
		return "lost since " + v.LostSince.Local().Format("15:04:05")
	case v.Kind == task.SalvageNone && len(v.Notes) > 0:
		return "none, with " + task.Count(len(v.Notes), "note") + ": see omoi work"
	case v.Kind == task.SalvageNone:
		return "none"
	}
	what := task.Count(v.Files, "file")
	switch {
	case v.Head != "" && v.Files > 0:
		what = "commits and " + what
	case v.Head != "":
		what = "commits"
	}
	text := fmt.Sprintf("%s in %s %s", what, v.Kind, render.Clean(v.Ref))
	if len(v.Notes) > 0 {
		text += ", with " + task.Count(len(v.Notes), "note") + ": see omoi work"
	}
	return text
}

func (s *session) sandboxEvents() *cobra.Command {
	f := client.EventFilter{}
	cmd := s.boxVerb("events", "List the newest stored events of a sandbox, oldest first",
		func(ctx context.Context, api *client.Client, box client.Sandbox) error {
			return s.events(ctx, api, box.ID, f)
		})
	cmd.Long = `List the newest stored events of a sandbox: sequence, time, type and fields. --json prints each event in full, as one JSON
object per line. omoi logs shows and follows the events of a task.`
	cmd.Flags().IntVarP(&f.Limit, "limit", "n", 50, "maximum number of rows, up to 500")
	cmd.Flags().StringVar(&f.Type, "type", "", "only events of this `type`, for example agent.tool_use")
	return cmd
}

func (s *session) events(ctx context.Context, api *client.Client, id string, f client.EventFilter) error {
	found, err := api.NewestEvents(ctx, id, f)
	if err != nil {
		return err
	}
	if len(found.Events) == 0 {
		if _, err := api.EventCounts(ctx, id); task.CodeOf(err) == task.CodeGone { // removed by retention
			return err
		}
		s.hint("No such events in sandbox %s. Next: omoi sandbox show %s", id, id)
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
