package taskcmd

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

// legends say what may be typed for the arguments that many commands have.
func legends() map[string]string {
	return map[string]string{
		"task":    "<task> is its id, 4 or more characters of the id's beginning or end, or - for the newest one.",
		"sandbox": "<sandbox> is its id, 4 or more characters of the id's beginning or end, or its task: that one's id, or - for the newest.",
		"project": "<project> is its name, its id, or 4 or more characters of the id's beginning or end.",
		"ticket":  "<ticket> is its id, or 4 or more characters of the id's beginning or end.",
	}
}

// explainArguments ends the help of a command, and of those below it, with what its arguments may be.
func explainArguments(cmd *cobra.Command) {
	for _, name := range []string{"task", "sandbox", "project", "ticket"} {
		if hasArgument(cmd.Use, name) && !strings.Contains(cmd.Long, "<"+name+"> is") {
			cmd.Long = strings.TrimSuffix(cmp.Or(cmd.Long, cmd.Short), ".") + ".\n\n" + legends()[name]
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
