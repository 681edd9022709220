package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// groups makes every command that only holds others answer as the root does: help alone, an error for what it
// does not have. cobra prints the help for both, with exit code 0.
func groups(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.SuggestionsMinimumDistance = unknownCommand, 2
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, child := range cmd.Commands() {
		groups(child)
	}
}

// unknownCommand refuses arguments of a command that only holds others, and names the command that may have been meant.
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

// completion adds cobra's command, which else comes too late for our errors.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	made, _, _ := root.Find([]string{"completion"}) // it is there now
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
