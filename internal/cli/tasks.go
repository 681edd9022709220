package cli

import (
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// addTaskCommands adds the commands with which a person works on tasks.
func addTaskCommands(root *cobra.Command, g *globals) {
	streams := taskcmd.IO{Env: g.variable, Stdin: g.stdin, Stdout: g.stdout, Stderr: g.stderr, Dir: g.dir}
	for _, cmd := range taskcmd.Commands(streams) {
		cmd.PersistentPreRunE = func(*cobra.Command, []string) error { // a wrong --set must not be passed over
			_, err := g.load(nil)
			return err
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(newDemo(g))
}
