package taskcmd

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	comparedBoxes = 5  // without names
	mostCompared  = 20 // at a time
)

// compared is a sandbox beside others.
type compared struct {
	client.Sandbox

	Outcome      string             `json:"outcome"`       // of its attempt; empty while it is running, or if it is of no task
	FailureClass string             `json:"failure_class"` // likewise
	Title        string             `json:"title"`         // of its task
	InputTokens  int64              `json:"input_tokens"`
	OutputTokens int64              `json:"output_tokens"`
	Counts       client.EventCounts `json:"counts"`
}

func (s *session) sandboxCompare() *cobra.Command {
	cmd := s.verb("compare [sandbox ...]", "Compare sandboxes side by side; without ids the newest five", func(_ *cobra.Command, args []string) error {
		if len(args) == 1 || len(args) > mostCompared {
			return exit.Usagef("name 2 to %d sandboxes or tasks to compare, or none for the newest %d", mostCompared, comparedBoxes)
		}
		return nil
	}, func(ctx context.Context, api *client.Client, refs []string) error {
		rows, err := rowsOf(ctx, api, refs)
		if err != nil {
			return err
		}
		return s.answer(rows, func() {
			if len(rows) == 0 {
				s.hint("There was no sandbox yet. Next: omoi run")
				return
			}
			s.table(comparison(rows))
		})
	})
	cmd.Long = `Compare sandboxes side by side: outcome, time, cost, heartbeats, events by type. Without ids they are the newest five,
without those of omoi check.`
	cmd.ValidArgsFunction = s.completeTasks
	return cmd
}

func rowsOf(ctx context.Context, api *client.Client, refs []string) ([]compared, error) {
	if len(refs) == 0 {
		return newestRows(ctx, api)
	}
	rows := make([]compared, 0, len(refs))
	for _, ref := range refs {
		box, err := anyBox(ctx, api, ref)
		if err != nil {
			return nil, err
		}
		t, err := ownerOf(ctx, api, box)
		if err != nil {
			return nil, err
		}
		row, err := compareOne(ctx, api, box, t)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// newestRows leaves sandboxes of `omoi check` out.
func newestRows(ctx context.Context, api *client.Client) ([]compared, error) {
	rows := []compared{}
	for f := (client.SandboxFilter{Limit: recentBoxes}); ; {
		page, err := api.Sandboxes(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, box := range page.Items {
			t, err := ownerOf(ctx, api, box)
			if err != nil {
				return nil, err
			}
			if client.IsCheck(t) {
				continue
			}
			row, err := compareOne(ctx, api, box, t)
			if rows = append(rows, row); err != nil || len(rows) == comparedBoxes {
				return rows, err
			}
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return rows, nil
		}
	}
}

// ownerOf is the task of a sandbox; one that nobody made has none.
func ownerOf(ctx context.Context, api *client.Client, box client.Sandbox) (client.Task, error) {
	if box.TaskID == "" {
		return client.Task{}, nil
	}
	return api.Task(ctx, box.TaskID)
}

func compareOne(ctx context.Context, api *client.Client, box client.Sandbox, t client.Task) (compared, error) {
	row := compared{Sandbox: box, Title: t.Title}
	var err error
	row.Counts, err = api.EventCounts(ctx, box.ID)
	for _, a := range t.Attempts {
		if a.SandboxID == box.ID {
			row.Outcome, row.FailureClass, row.InputTokens, row.OutputTokens = a.Outcome, string(a.FailureClass), a.InputTokens, a.OutputTokens
		}
	}
	return row, err
}

// comparison is a table with a column for each sandbox.
func comparison(rows []compared) [][]string {
	line := func(name string, cell func(compared) string) []string {
		out := []string{name}
		for _, row := range rows {
			out = append(out, cell(row))
		}
		return out
	}
	table := [][]string{
		line("SANDBOX", func(c compared) string { return render.Short(c.ID) }),
		line("task", func(c compared) string { return taskOf(c.Sandbox) }),
		line("title", func(c compared) string { return render.OneLine(c.Title, 24) }),
		line("provider", func(c compared) string { return c.Provider }),
		line("state", func(c compared) string { return string(c.State) }),
		line("outcome", outcomeOf),
		line("lifetime", func(c compared) string { return render.Elapsed(time.Duration(c.SecondsAlive * float64(time.Second))) }),
		line("model cost", func(c compared) string { return task.CostText(c.CostUSD, c.CostUnknown, "$%.2f") }),
		line("tokens", func(c compared) string { return strconv.FormatInt(c.InputTokens+c.OutputTokens, 10) }),
		line("salvage", func(c compared) string { return render.OneLine(saved(c.Salvage), 24) }),
		line("events", func(c compared) string { return strconv.FormatInt(c.Counts.Total, 10) }),
		line("heartbeats", func(c compared) string { return strconv.FormatInt(c.Counts.Heartbeats, 10) }),
	}
	types := map[string]bool{}
	for _, row := range rows {
		for name := range row.Counts.Types {
			types[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		table = append(table, line("  "+render.Clean(name), func(c compared) string { return strconv.FormatInt(c.Counts.Types[name], 10) }))
	}
	return table
}

func outcomeOf(c compared) string {
	switch {
	case c.Outcome == "" && c.EndedAt == nil:
		return "running"
	case c.Outcome == "":
		return "-"
	case c.FailureClass != "":
		return c.Outcome + " " + c.FailureClass
	}
	return c.Outcome
}
