package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// exampleTexts holds the examples of all commands: the path of a command, then its example command lines, indented.
//
//go:embed examples.txt
var exampleTexts string

// addExamples sets Example of every command that has examples.
func addExamples(root *cobra.Command) {
	cmd := root
	for line := range strings.Lines(exampleTexts) {
		if strings.HasPrefix(line, " ") {
			cmd.Example = strings.TrimPrefix(cmd.Example+"\n"+strings.TrimRight(line, "\n"), "\n")
			continue
		}
		cmd, _, _ = root.Find(strings.Fields(line)[1:]) // a test verifies that Find succeeds
	}
}
