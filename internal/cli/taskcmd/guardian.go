package taskcmd

import (
	"github.com/spf13/cobra"
)

func newGuardian(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guardian",
		Short: "Watch over agents at work: what it thinks, how good it is, when it runs",
	}
	cmd.AddCommand(s.guardianServer()...)
	cmd.AddCommand(s.guardianScore(), s.guardianCorpus())
	return cmd
}
