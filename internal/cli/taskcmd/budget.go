package taskcmd

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cost"
)

// budgetFlags are the flags that set limits of a budget. A limit without its flag stays unchanged.
type budgetFlags struct {
	usd            float64
	tokens         int64
	clock, sandbox time.Duration
	changed        func(flag string) bool
	prefix         string // prefix of the flag names
}

// add defines the flags.
func (f *budgetFlags) add(cmd *cobra.Command, prefix string) {
	flags := cmd.Flags()
	f.prefix, f.changed = prefix, flags.Changed
	what := ""
	if prefix != "" {
		what = "limit: "
	}
	flags.Float64Var(&f.usd, prefix+"usd", 0, what+"US dollars for models")
	flags.Int64Var(&f.tokens, prefix+"tokens", 0, what+"input and output tokens together")
	flags.DurationVar(&f.clock, prefix+"wall-clock", 0, what+"time since creation, for example 2h")
	flags.DurationVar(&f.sandbox, prefix+"sandbox-time", 0, what+"lifetime of all sandboxes together, for example 90m")
}

// over applies the given flags to b and reports whether a flag was given. If removable is set, 0 removes a limit.
func (f *budgetFlags) over(b client.Budget, removable bool) (out client.Budget, named bool, err error) {
	for _, limit := range []struct {
		flag  string
		value float64
		set   func()
	}{
		{"usd", f.usd, func() { b.USD = f.usd }},
		{"tokens", float64(f.tokens), func() { b.Tokens = f.tokens }},
		{"wall-clock", float64(f.clock), func() { b.WallClockS = wholeSeconds(f.clock) }},
		{"sandbox-time", float64(f.sandbox), func() { b.SandboxSeconds = wholeSeconds(f.sandbox) }},
	} {
		switch flag := f.prefix + limit.flag; {
		case !f.changed(flag):
		case limit.value > 0 && !math.IsInf(limit.value, 0), limit.value == 0 && removable:
			limit.set()
			named = true
		default:
			return b, named, exit.Usagef("invalid --%s: must be above 0; omoi budget removes a limit with 0", flag)
		}
	}
	return b, named, nil
}

// wholeSeconds rounds up, since 0 seconds would remove the limit.
func wholeSeconds(d time.Duration) int64 {
	if d < 0 {
		return int64(d/time.Second) - 1 // rounds down: the server rejects values below 0
	}
	return int64((d + time.Second - 1) / time.Second)
}

func newBudget(s *session) *cobra.Command {
	var f budgetFlags
	project := ""
	cmd := s.verb("budget [task]", "Show or set the budget of a task or a project", cobra.MaximumNArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if project != "" {
			p, err := projectOf(ctx, api, project)
			if err != nil {
				return err
			}
			return s.budget(ctx, budgetOf{"project", p.ID, api.ProjectBudget, api.SetProjectBudget}, f)
		}
		t, err := s.taskOf(ctx, api, args[0])
		if err != nil {
			return err
		}
		return s.budget(ctx, budgetOf{"task", t.ID, api.TaskBudget, api.SetTaskBudget}, f)
	})
	cmd.Long = `Show the budget and the usage of a task, or with --project of all tasks of a project together. Each flag sets one limit,
and 0 removes it; the other limits stay. Tasks that were suspended for a budget resume when it is raised. The wall clock
runs from the creation of the task or project, also while no task is running.`
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if (len(args) == 0) == (project == "") {
			return exit.Usagef("name a task or a project. Next: omoi budget <task>, or omoi budget --project <project>")
		}
		_, _, err := f.over(client.Budget{}, true)
		return err
	}
	cmd.ValidArgsFunction = s.completeTasks
	cmd.Flags().StringVar(&project, "project", "", projectArg)
	f.add(cmd, "")
	return cmd
}

// budgetOf is the task or project of a budget, with the requests that read and set it.
type budgetOf struct {
	kind, id string
	read     func(context.Context, string) (client.BudgetUsage, error)
	set      func(context.Context, string, client.Budget) (client.BudgetUsage, error)
}

func (s *session) budget(ctx context.Context, of budgetOf, f budgetFlags) error {
	now, err := of.read(ctx, of.id)
	if err != nil {
		return err
	}
	b, named, err := f.over(now.Budget, true)
	if err == nil && named {
		now, err = of.set(ctx, of.id, b)
	}
	return s.answer(now, err, func() {
		s.spendingTable(now)
		if named {
			s.say("Changed the budget of the %s; running tasks that exceed it are suspended, with their work saved.", of.kind)
			for _, id := range now.TaskIDs {
				s.say("Resumed task %s, which the old budget had suspended.", render.Short(id))
			}
		}
	})
}

func (s *session) spendingTable(now client.BudgetUsage) {
	limit := func(set bool, text string) string {
		if !set {
			return "no limit"
		}
		return text
	}
	seconds := func(n float64) string { return (time.Duration(n) * time.Second).String() }
	b, u := now.Budget, now.Used
	s.table([][]string{
		{"", "USED", "BUDGET"},
		{"money", cost.Text(u.USD, u.CostUnknown, "$%.2f"), limit(b.USD > 0, fmt.Sprintf("$%.2f", b.USD))},
		{"tokens", fmt.Sprintf("%.0f", u.Tokens), limit(b.Tokens > 0, strconv.FormatInt(b.Tokens, 10))},
		{"wall clock", seconds(u.WallClockS), limit(b.WallClockS > 0, seconds(float64(b.WallClockS)))},
		{"sandboxes", seconds(u.SandboxSeconds), limit(b.SandboxSeconds > 0, seconds(float64(b.SandboxSeconds)))},
	})
}
