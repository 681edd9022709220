package cli

import "github.com/spf13/cobra"

// sections order the commands of the help by what a person wants; a command that is in none stands at its end.
func sections(root *cobra.Command) {
	for _, section := range []struct {
		title string
		names []string
	}{
		{"Begin:", []string{"dev", "demo", "doctor", "check"}},
		{"Give a task, and see it through:", []string{
			"run", "ps", "show", "why", "logs", "send", "message", "cancel", "retry", "verdict", "diff", "checkout", "transcript", "work",
		}},
		{"Look at sandboxes:", []string{"sandboxes", "sandbox", "events", "compare", "receipt", "hosts"}},
		{"Look after many tasks:", []string{
			"projects", "tickets", "stop", "budget", "organization", "guardian", "conductor", "interventions",
		}},
		{"Servers and settings:", []string{"api", "worker", "migrate", "config", "storage", "keys", "credentials"}},
	} {
		root.AddGroup(&cobra.Group{ID: section.title, Title: section.title})
		for _, cmd := range root.Commands() {
			for _, name := range section.names {
				if cmd.Name() == name {
					cmd.GroupID = section.title
				}
			}
		}
	}
}
