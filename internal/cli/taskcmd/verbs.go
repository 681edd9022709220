package taskcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// noun returns a command that only holds others.
func noun(name, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short}
	cmd.AddCommand(verbs...)
	return cmd
}

// verb returns a command that sends requests to the server. PreRunE of the command may check flags before that.
func (s *session) verb(use, short string, args cobra.PositionalArgs, do func(context.Context, *client.Client, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		api, err := s.api()
		if err != nil {
			return err
		}
		return do(cmd.Context(), api, args)
	}}
}

// taskVerb returns a command about the task that its only argument names.
func (s *session) taskVerb(use, short string, do func(context.Context, *client.Client, client.Task) error) *cobra.Command {
	cmd := s.verb(use, short, oneTask, func(ctx context.Context, api *client.Client, args []string) error {
		t, err := s.taskOf(ctx, api, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, t)
	})
	cmd.ValidArgsFunction = s.completeTasks
	return cmd
}

// listVerb returns the command "list" of a noun.
func listVerb[T any](s *session, short string, read func(*client.Client, context.Context) ([]T, error), show func([]T)) *cobra.Command {
	return s.verb("list", short, NoArgs, func(ctx context.Context, api *client.Client, _ []string) error {
		all, err := read(api, ctx)
		if err != nil {
			return err
		}
		return s.answer(all, func() { show(all) })
	})
}

// answer prints v as JSON, or has show print it as text.
func (s *session) answer(v any, show func()) error {
	if s.json {
		return s.printJSON(v)
	}
	show()
	return nil
}

// table prints rows in columns; the first row is the heading.
func (s *session) table(rows [][]string) { _, _ = fmt.Fprint(s.Stdout, s.style().Table(rows)) }

// changed returns the value of a flag that was given, nil for any other.
func changed[T any](cmd *cobra.Command, flag string, value *T) *T {
	if cmd.Flags().Changed(flag) {
		return value
	}
	return nil
}

// kind tells how one item of a list is named on the command line.
type kind[T any] struct {
	noun, list string // of an item, and the command that lists them
	id         func(T) string
	name       func(T) string // nil if items have no names
}

// pick returns the item that ref names: by its ID, its name, or 4 or more characters of the ID's beginning or end.
func (k kind[T]) pick(all []T, ref string) (T, error) {
	var none T
	var exact, parts []T
	for _, one := range all {
		switch {
		case ref != "" && (k.id(one) == ref || k.name != nil && k.name(one) == ref):
			exact = append(exact, one)
		case len(ref) >= minFragment && partOf(k.id(one), ref):
			parts = append(parts, one)
		}
	}
	if len(exact) == 0 {
		exact = parts
	}
	switch {
	case len(exact) == 1:
		return exact[0], nil
	case len(exact) > 1:
		return none, exit.Usagef("%q matches %d %ss: give more of the ID: %s. Next: %s", ref, len(exact), k.noun, k.ids(exact), k.list)
	}
	return none, task.Errorf(task.CodeNotFound, "No %s matches %q (4 or more characters of an ID are enough). Next: %s", k.noun, ref, k.list)
}

// ids returns the IDs of the first few items.
func (k kind[T]) ids(all []T) string {
	const most = 6
	var ids []string
	for _, one := range all[:min(len(all), most)] {
		ids = append(ids, k.id(one))
	}
	return strings.Join(ids, ", ")
}
