package taskcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newPS(s *session) *cobra.Command {
	var status string
	var limit int
	var all bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List tasks, newest first; --all includes those of omoi check",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.ps(cmd.Context(), status, limit, all)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only tasks of this `status`, as running or failed")
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many; 0 is all of them")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "those of omoi check too")
	return cmd
}

func (s *session) ps(ctx context.Context, status string, limit int, all bool) error {
	status = strings.ToLower(strings.TrimSpace(status))
	if limit < 0 {
		return exit.Usagef("-n %d: give how many tasks to list, or 0 for all of them", limit)
	}
	api, err := s.api()
	if err != nil {
		return err
	}
	found, err := newest(ctx, api, client.TaskFilter{Status: status}, limit, all)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(found.Items)
	}
	switch {
	case len(found.Items) > 0:
		s.psTable(found.Items)
	case status != "":
		s.hint("No task is %s. All of them: omoi ps", status)
	default:
		s.hint("No tasks. Next: omoi run \"Say hello\" --repo <path of a git repository> --script example:hello --wait")
	}
	if found.More {
		s.hint("There are more: omoi ps%s -n 0", with("--status", status))
	}
	if found.Left {
		s.hint("Tasks of omoi check are left out: omoi ps%s --all", with("--status", status))
	}
	return nil
}

// with is a flag as it would be typed, nothing where it has no value.
func with(flag, value string) string {
	if value == "" {
		return ""
	}
	return " " + flag + " " + value
}

func (s *session) psTable(tasks []client.Task) {
	st := s.style()
	rows := [][]string{{"TASK", "STATUS", "AGE", "AGENT", "SANDBOX", "TITLE"}}
	for _, t := range tasks {
		rows = append(rows, []string{
			st.Bold(render.Short(t.ID)), st.Status(t.Status) + waiting(t), render.Elapsed(time.Since(t.CreatedAt)),
			t.Agent, t.Provider, render.OneLine(t.Title, 60),
		})
	}
	s.table(rows)
}

// waiting is why a pending task is not at work, in two words.
func waiting(t client.Task) string {
	switch {
	case t.Status != task.StatusPending:
		return ""
	case t.Blocked != task.BlockedNone:
		return " (" + strings.ReplaceAll(string(t.Blocked), "_", " ") + ")"
	case t.QueuePosition != nil:
		return fmt.Sprintf(" (position %d in the queue)", *t.QueuePosition)
	}
	return ""
}
