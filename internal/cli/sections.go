package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// sections assigns every command to a group of the help. A test finds commands without a group.
func sections(root *cobra.Command) {
	for _, section := range []struct {
		title string
		names []string
	}{
		{"Get started:", []string{"dev", "demo", "doctor", "check", "help", "completion"}},
		{"Tasks:", []string{
			"run", "compare", "ps", "show", "why", "logs", "send", "answer", "message", "allow", "cancel", "retry", "rewind", "fork", "review", "diff", "checkout", "take", "give",
			"transcript", "checkpoints", "work", "receipt", "budget", "contract", "acp", "mcp",
		}},
		{"Sandboxes:", []string{"sandbox", "host", "openhands"}},
		{"Projects and supervision:", []string{"project", "ticket", "organization", "guardian", "conductor", "notice"}},
		{"Server and configuration:", []string{"api", "worker", "migrate", "import", "config", "storage", "keys", "credentials", "version"}},
	} {
		root.AddGroup(&cobra.Group{ID: section.title, Title: section.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(section.names, cmd.Name()) {
				cmd.GroupID = section.title
			}
		}
	}
}
