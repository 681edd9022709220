package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newSandboxes(s *session) *cobra.Command {
	var all, recent bool
	cmd := &cobra.Command{
		Use:   "sandboxes",
		Short: "List sandboxes that are not verified gone; --all shows every receipt, --recent the newest ones",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if recent {
				return s.sandboxes(cmd.Context(), true, recentBoxes)
			}
			return s.sandboxes(cmd.Context(), all, 0)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "those that are gone too")
	cmd.Flags().BoolVar(&recent, "recent", false, "the newest 20, those that are gone too")
	cmd.AddCommand(s.sandboxesCleanup(), s.sandboxesSweep())
	return cmd
}

// recentBoxes is how many sandboxes --recent shows.
const recentBoxes = 20

// sandboxes lists so many; 0 is all of them.
func (s *session) sandboxes(ctx context.Context, all bool, most int) error {
	api, err := s.api()
	if err != nil {
		return err
	}
	boxes, _, err := collect(most, func(limit int, cursor string) (client.Page[client.Sandbox], error) {
		return api.Sandboxes(ctx, client.SandboxFilter{Unverified: !all, Limit: limit, Cursor: cursor})
	})
	switch {
	case err != nil:
		return err
	case s.json:
		return s.printJSON(boxes)
	case len(boxes) == 0 && !all:
		s.hint("No sandbox is alive: all of them are verified gone. Receipts: omoi sandboxes --all")
	case len(boxes) == 0:
		s.hint("There was no sandbox yet.")
	}
	s.showSandboxes(boxes)
	s.alarm(ctx, api)
	return nil
}

// alarm says what the reaper cannot settle without a person.
func (s *session) alarm(ctx context.Context, api *client.Client) {
	ready, _ := api.Ready(ctx) // the list is what was asked for
	for _, d := range ready.Dependencies {
		if d.Name == "sandboxes" && d.State == client.StateDown {
			s.hint("%s %s", StyleOf(s.Stderr, s.Env).Red("ALARM:"), render.OneLine(d.Detail, 1000))
		}
	}
}

func (s *session) showSandboxes(boxes []client.Sandbox) {
	if len(boxes) == 0 {
		return
	}
	priced := slices.ContainsFunc(boxes, func(b client.Sandbox) bool { return b.Cost != nil })
	head := []string{"SANDBOX", "PROVIDER", "TASK", "STATE", "ALIVE", "VERIFIED GONE", "WORK SAVED"}
	if priced {
		head = append(head, "COST")
	}
	rows := [][]string{head}
	for _, b := range boxes {
		row := []string{
			render.Short(b.ID), b.Provider, taskOf(b), s.state(b.State),
			render.Elapsed(time.Duration(b.SecondsAlive * float64(time.Second))), verified(b), saved(b.Salvage),
		}
		if priced {
			row = append(row, costOf(b))
		}
		rows = append(rows, row)
	}
	s.say("%s", strings.TrimRight(s.style().Table(rows), "\n"))
	for _, line := range isolations(boxes) {
		s.say("%s", line)
	}
}

// taskOf names the task of a sandbox; one that nobody made has none.
func taskOf(b client.Sandbox) string {
	if b.TaskID == "" {
		return "-"
	}
	return fmt.Sprintf("%s #%d", render.Short(b.TaskID), b.Attempt)
}

// isolations says once what was active, and of which sandboxes where they differ.
func isolations(boxes []client.Sandbox) []string {
	var order []string
	having := map[string][]string{}
	for _, b := range boxes {
		if len(b.Isolation) == 0 {
			continue
		}
		set := strings.Join(b.Isolation, ", ")
		if having[set] == nil {
			order = append(order, set)
		}
		having[set] = append(having[set], render.Short(b.ID))
	}
	lines := make([]string, 0, len(order))
	for _, set := range order {
		of := ""
		if len(order) > 1 {
			of = " of " + strings.Join(having[set], ", ")
		}
		lines = append(lines, "Isolation"+of+": "+render.Clean(set))
	}
	return lines
}

func (s *session) state(state task.SandboxState) string {
	switch state {
	case task.SandboxGone:
		return s.style().Green(string(state))
	case task.SandboxLost:
		return s.style().Red(string(state))
	case task.SandboxIntended, task.SandboxCreating, task.SandboxRunning, task.SandboxDeleting:
	}
	return s.style().Yellow(string(state))
}

func verified(b client.Sandbox) string {
	switch {
	case b.VerifiedAt != nil:
		return b.VerifiedAt.Local().Format("15:04:05")
	case b.Provider == task.ProviderExternal, b.Provider == task.ProviderBare:
		return "nothing to verify"
	}
	if b.GoneAt != nil {
		return "not yet, seen once"
	}
	return "not yet"
}

// saved says what became of the uncommitted work.
func saved(v *task.Salvage) string {
	switch {
	case v == nil:
		return "-"
	case v.Kind == task.SalvageLost && v.LostSince != nil:
		return "lost since " + v.LostSince.Local().Format("15:04:05")
	case v.Kind == task.SalvageNone && len(v.Notes) > 0:
		return "nothing, with " + render.Count(len(v.Notes), "note") + ": see omoi show"
	case v.Kind == task.SalvageNone:
		return "nothing uncommitted"
	}
	what := render.Count(v.Files, "file")
	switch {
	case v.Head != "" && v.Files > 0:
		what = "commits and " + what
	case v.Head != "":
		what = "commits"
	}
	text := fmt.Sprintf("%s in %s %s", what, v.Kind, render.Clean(v.Ref))
	if len(v.Notes) > 0 {
		text += ", with " + render.Count(len(v.Notes), "note") + ": see omoi show"
	}
	return text
}
