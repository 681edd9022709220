package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// groups makes every command that only holds others answer as the root does: help alone, an error for what it
// does not have. cobra prints the help for both, with exit code 0.
func groups(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.SuggestionsMinimumDistance = noSuchCommand, 2
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, child := range cmd.Commands() {
		groups(child)
	}
}

// noSuchCommand refuses arguments of commands that only hold others.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noCommand(cmd, args[0])
}

// noCommand says that a command does not exist, and which one may have been meant.
func noCommand(group *cobra.Command, name string) error {
	hint, where, list := "", "", "omoi help"
	if near := group.SuggestionsFor(name); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if group.HasParent() {
		where, list = " in "+group.CommandPath(), group.CommandPath()+" --help"
	}
	return exit.Usagef("there is no command %q%s%s (%s lists them)", name, where, hint, list)
}

// completion adds cobra's command, which else comes too late for our errors.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		for _, shell := range cmd.Commands() {
			shell.Args = taskcmd.NoArgs
		}
	}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			found, rest, err := root.Find(args)
			switch {
			case err != nil:
				return noCommand(root, strings.Join(args, " "))
			case len(rest) > 0:
				return noCommand(found, rest[0])
			}
			return found.Help()
		},
	}
}
