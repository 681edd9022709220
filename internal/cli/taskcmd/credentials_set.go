package taskcmd

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/credential"
)

// oneKind refuses a secret among the arguments, where every process of the machine could read it.
func oneKind(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes a kind alone. A secret on a command line can be read by others and stays in the shell's history: type it when asked, or pipe it in", cmd.CommandPath())
	}
	return exactly(1, "a kind: anthropic, claude_oauth, github, or the name of another provider")(cmd, args)
}

func (s *session) credentialsSet() *cobra.Command {
	var in client.NewCredential
	var of whose
	cmd := &cobra.Command{
		Use:   "set <kind>",
		Short: "Keep a credential: anthropic, claude_oauth, github, or another provider's; its value is asked for, or read from standard input",
		Example: `  omoi credentials set github                      asks for the token
  gh auth token | omoi credentials set github
  omoi credentials set anthropic --base-url https://api.z.ai/api/anthropic --model glm-4.6 --bearer`,
		Args: oneKind,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := credential.CheckKind(args[0]); err != nil {
				return err
			}
			api, err := s.api()
			if err != nil {
				return err
			}
			if in.Scope, in.ProjectID, err = of.place(cmd.Context(), api); err != nil {
				return err
			}
			if in.Secret, err = s.secret(cmd.Context(), args[0]); err != nil {
				return err
			}
			made, err := api.SetCredential(cmd.Context(), args[0], in)
			if err != nil {
				return err
			}
			return s.credentialKept(made)
		},
	}
	of.flags(cmd)
	cmd.Flags().StringVar(&in.BaseURL, "base-url", "", "`address` of a compatible endpoint")
	cmd.Flags().BoolVar(&in.Bearer, "bearer", false, "send it as a bearer token, as some compatible endpoints ask for")
	cmd.Flags().StringVar(&in.Model, "model", "", "`model` of agents that name none")
	cmd.Flags().StringVar(&in.Haiku, "haiku-model", "", "`model` that stands for Haiku")
	cmd.Flags().StringVar(&in.Sonnet, "sonnet-model", "", "`model` that stands for Sonnet")
	cmd.Flags().StringVar(&in.Opus, "opus-model", "", "`model` that stands for Opus")
	return cmd
}

func (s *session) credentialKept(c client.Credential) error {
	if s.json {
		return s.printJSON(c)
	}
	s.say("%s  %s  %s", c.Kind, owned(c), c.Masked)
	s.hint("Next: omoi credentials test %s", c.Kind)
	return nil
}

func (s *session) credentialsRemove() *cobra.Command {
	var of whose
	cmd := &cobra.Command{
		Use:     "rm <kind>",
		Aliases: []string{"remove"},
		Short:   "Remove a credential; what it was good for goes on with that of the project, the organization or the server",
		Args:    oneKind,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			scope, project, err := of.place(cmd.Context(), api)
			if err != nil {
				return err
			}
			if err := api.RemoveCredential(cmd.Context(), args[0], scope, project); err != nil {
				return err
			}
			if s.json {
				return s.printJSON(map[string]string{"kind": args[0], "scope": cmp.Or(scope, credential.ScopeUser), "state": "removed"})
			}
			s.say("%s is removed. Sandboxes that run keep what they were given; end it at the provider to end it at once.", args[0])
			return nil
		},
	}
	of.flags(cmd)
	return cmd
}
