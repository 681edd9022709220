package taskcmd

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

// explainArguments ends the help of a command, and of those below it, with what may be typed for the arguments that many
// commands have.
func explainArguments(cmd *cobra.Command) {
	for _, argument := range [][2]string{
		{"task", "its id, 4 or more characters of the id's beginning or end, or - for the newest one."},
		{"sandbox", "its id, 4 or more characters of the id's beginning or end, or its task: that one's id, or - for the newest."},
		{"project", "its name, its id, or 4 or more characters of the id's beginning or end."},
		{"ticket", "its id, or 4 or more characters of the id's beginning or end."},
	} {
		if name := argument[0]; hasArgument(cmd.Use, name) {
			cmd.Long = strings.TrimSuffix(cmp.Or(cmd.Long, cmd.Short), ".") + ".\n\n<" + name + "> is " + argument[1]
		}
	}
	for _, child := range cmd.Commands() {
		explainArguments(child)
	}
}

// hasArgument reports whether a command has such an argument, needed or not.
func hasArgument(use, name string) bool {
	return strings.Contains(use, "<"+name+">") || strings.Contains(use, "["+name+"]") || strings.Contains(use, "["+name+" ...]")
}
