package cli

import (
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// addTaskCommands adds the commands with which a person works on tasks.
func addTaskCommands(root *cobra.Command, g *globals) {
	streams := taskcmd.IO{
		Env: g.variable, Stdin: g.stdin, Stdout: g.stdout, Stderr: g.stderr, Dir: g.dir, JSON: &g.json, Provider: g.provider,
	}
	for _, cmd := range taskcmd.Commands(streams) {
		cmd.PersistentPreRunE = func(*cobra.Command, []string) error { // a wrong --set must not be passed over
			_, err := g.load()
			return err
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(newDemo(g))
}

// provider opens a sandbox provider of this machine.
func (g *globals) provider(name string) (sandbox.Provider, error) {
	loaded, err := g.load()
	if err != nil {
		return nil, err
	}
	return app.OpenProvider(loaded, name)
}
