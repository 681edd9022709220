package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
)

// noun returns a command that only has subcommands.
func noun(name, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short}
	cmd.AddCommand(verbs...)
	return cmd
}

// verb returns a command that sends requests to the server. Its PreRunE may check flags first.
func (s *session) verb(use, short string, args cobra.PositionalArgs, do func(context.Context, *client.Client, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		api, err := s.api()
		if err != nil {
			return err
		}
		return do(cmd.Context(), api, args)
	}}
}

// about returns the function of a command that resolves its only argument and then calls do.
func about[T any](
	find func(context.Context, *client.Client, string) (T, error), do func(context.Context, *client.Client, T) error,
) func(context.Context, *client.Client, []string) error {
	return func(ctx context.Context, api *client.Client, args []string) error {
		found, err := find(ctx, api, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, found)
	}
}

// taskVerb returns a command about one task.
func (s *session) taskVerb(use, short string, do func(context.Context, *client.Client, client.Task) error) *cobra.Command {
	cmd := s.verb(use, short, oneTask, about(s.taskOf, do))
	cmd.ValidArgsFunction = s.completeTasks
	return cmd
}

// listVerb returns the command list of a noun.
func listVerb[T any](s *session, short string, read func(*client.Client, context.Context) ([]T, error), show func([]T)) *cobra.Command {
	return s.verb("list", short, NoArgs, func(ctx context.Context, api *client.Client, _ []string) error {
		all, err := read(api, ctx)
		return s.answer(all, err, func() { show(all) })
	})
}

// answer prints v as JSON, or calls show. If err is not nil, answer returns err.
func (s *session) answer(v any, err error, show func()) error {
	switch {
	case err != nil:
		return err
	case *s.JSON:
		return s.printJSON(v)
	}
	show()
	return nil
}

// table prints rows as columns; the first row is the head.
func (s *session) table(rows [][]string) { _, _ = fmt.Fprint(s.Stdout, s.style().Table(rows)) }

// list prints a row for each item below a heading with columns separated by |. Without items list prints none, unless
// none is empty.
func list[T any](s *session, items []T, none, heading string, row func(T) []string) {
	if len(items) == 0 {
		if none != "" {
			s.hint("%s", none)
		}
		return
	}
	rows := [][]string{strings.Split(heading, "|")}
	for _, one := range items {
		rows = append(rows, row(one))
	}
	s.table(rows)
}

// changed returns the value of a flag that was given; nil otherwise.
func changed[T any](cmd *cobra.Command, flag string, value *T) *T {
	if cmd.Flags().Changed(flag) {
		return value
	}
	return nil
}

// explainArguments adds to the help of a command and its subcommands how common arguments are written.
func explainArguments(cmd *cobra.Command) {
	for _, argument := range [][2]string{
		{"task", "its key (APP-12), its ID, 4 or more characters of the beginning or end of the ID, or - for the newest task."},
		{"sandbox", "its ID, 4 or more characters of the beginning or end of the ID, or a task, whose last attempt is meant."},
		{"project", "its key (APP), its name, its ID, or 4 or more characters of the beginning or end of the ID."},
		{"ticket", "its key (APP-T7), its ID, 4 or more characters of the beginning or end of the ID, or - for the newest ticket."},
	} {
		if name := argument[0]; hasArgument(cmd.Use, name) {
			cmd.Long = strings.TrimSuffix(cmp.Or(cmd.Long, cmd.Short), ".") + ".\n\n<" + name + "> is " + argument[1]
		}
	}
	for _, child := range cmd.Commands() {
		explainArguments(child)
	}
}

// hasArgument reports whether the use line has the argument, required or optional.
func hasArgument(use, name string) bool {
	return strings.Contains(use, "<"+name+">") || strings.Contains(use, "["+name+"]") || strings.Contains(use, "["+name+" ...]")
}
