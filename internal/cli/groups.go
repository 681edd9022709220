package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// groups makes every command that only has subcommands behave as the root: help without arguments, and an error for an
// unknown subcommand. cobra would print the help for both, with exit code 0.
func groups(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.SuggestionsMinimumDistance = unknownCommand, 2
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, child := range cmd.Commands() {
		groups(child)
	}
}

// unknownCommand returns an error if a command that only has subcommands got an argument. The error suggests similar
// names.
func unknownCommand(group *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := group.SuggestionsFor(args[0]); len(near) > 0 {
		hint = " (did you mean " + strings.Join(near, " or ") + "?)"
	}
	return exit.Usagef("unknown command %q in %s%s. Next: %s --help", args[0], group.CommandPath(), hint, group.CommandPath())
}

// completion adds cobra's completion command before [usageErrors] runs, so that its errors get omoi's exit codes. cobra
// would add the command later.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	made, _, _ := root.Find([]string{"completion"}) // never fails: InitDefaultCompletionCmd has just added the command
	for _, shell := range made.Commands() {
		shell.Args = taskcmd.NoArgs
	}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err = cmp.Or(err, unknownCommand(found, rest)); err != nil {
				return err
			}
			return found.Help()
		},
	}
}
