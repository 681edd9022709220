package exit

import "github.com/spf13/cobra"

// Flag gives what the parser of flags complains about the exit code of wrong usage.
func Flag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() { // a command that does not exist matters more than its flags
		if wrong := cmd.ValidateArgs(cmd.Flags().Args()); wrong != nil {
			return With(Usage, wrong)
		}
	}
	return Usagef("%w. Next: %s --help", err, cmd.CommandPath())
}
