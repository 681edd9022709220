package cli

import (
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

// addTaskCommands adds the commands with which a person works on tasks.
func addTaskCommands(root *cobra.Command, g *globals) {
	streams := taskcmd.IO{Env: g.variable, Stdin: g.stdin, Stdout: g.stdout, Stderr: g.stderr, Dir: g.dir}
	root.AddCommand(taskcmd.Commands(streams)...)
	root.AddCommand(newDemo(g))
}
