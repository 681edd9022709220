package taskcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newPS(s *session) *cobra.Command {
	var f client.TaskFilter
	var limit int
	var all bool
	short := "List tasks, newest first"
	cmd := s.verb("ps", short, NoArgs, func(ctx context.Context, api *client.Client, _ []string) error {
		f.Status = strings.ToLower(strings.TrimSpace(f.Status))
		found, err := newest(ctx, api, f, limit, all)
		return s.answer(found.Items, err, func() {
			none := "No tasks. Next: omoi run \"Say hello\" --repo <path of a git repository> --script example:hello --wait"
			if f.Status != "" {
				none = "No task is " + f.Status + ". Next: omoi ps"
			}
			s.psTable(found.Items, none)
			s.rest(found.More, found.Left, "omoi ps"+suffix(" --status ", f.Status))
		})
	})
	cmd.SuggestFor = []string{"list", "ls", "tasks"}
	cmd.Flags().StringVar(&f.Status, "status", "", "only tasks with this `status`, for example running")
	listFlags(cmd, &limit, &all)
	return cmd
}

// listFlags defines --limit, 20 by default, and --all. A limit of 0 lists all.
func listFlags(cmd *cobra.Command, limit *int, all *bool) {
	cmd.Flags().IntVarP(limit, "limit", "n", 20, "maximum number of rows; 0: no maximum")
	cmd.Flags().BoolVarP(all, "all", "a", false, "include those of omoi check")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *limit < 0 {
			return exit.Usagef("invalid --limit %d: must be 0 or more; 0 lists all", *limit)
		}
		return nil
	}
}

// rest prints the commands that list the omitted rows.
func (s *session) rest(more, left bool, command string) {
	if more {
		s.note("There are more. Next: %s -n 0", command)
	}
	if left {
		s.note("Those of omoi check are hidden. Next: %s --all", command)
	}
}

func (s *session) psTable(tasks []client.Task, none string) {
	st := s.style()
	list(s, tasks, none, "TASK|STATUS|AGE|AGENT|SANDBOX|TITLE", func(t client.Task) []string {
		return []string{
			st.Bold(render.Name(t.Key, t.ID)), st.Status(t.Status) + waiting(t), render.Elapsed(time.Since(t.CreatedAt)),
			t.Agent, t.Provider, render.OneLine(t.Title, 60),
		}
	})
}

// forMessage follows the status of a task whose agent waits.
const forMessage = " (waiting for message)"

// waiting returns a short reason why a task waits; empty if it does not.
func waiting(t client.Task) string {
	switch {
	case t.Status == task.StatusRunning && t.Group == task.GroupNeedsYou:
		return forMessage
	case t.Status != task.StatusPending:
		return ""
	case t.Blocked != task.BlockedNone:
		return " (" + strings.ReplaceAll(string(t.Blocked), "_", " ") + ")"
	case t.QueuePosition != nil:
		return fmt.Sprintf(" (position %d in the queue)", *t.QueuePosition)
	}
	return ""
}
