package taskcmd

import (
	"cmp"
	"context"

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
	cmd := s.verb("set <kind>", "Set a credential; type its value, or pipe it in", oneKind,
		func(ctx context.Context, api *client.Client, args []string) (err error) {
			if in.Scope, in.ProjectID, err = of.place(ctx, api); err != nil {
				return err
			}
			if in.Secret, err = s.secret(ctx, args[0]); err != nil {
				return err
			}
			c, err := api.SetCredential(ctx, args[0], in)
			return s.answer(c, err, func() {
				s.say("%s  %s  %s", c.Kind, owned(c), c.Masked)
				s.hint("Next: omoi credentials test %s", c.Kind)
			})
		})
	cmd.Long = "Set a credential: anthropic, claude_oauth, github, or another provider's. Its value is asked for, or read from standard input."
	cmd.Example = `  omoi credentials set github                      asks for the token
  gh auth token | omoi credentials set github
  omoi credentials set anthropic --base-url https://api.z.ai/api/anthropic --model glm-4.6 --bearer`
	cmd.PreRunE = func(_ *cobra.Command, args []string) error { return credential.CheckKind(args[0]) }
	of.flags(cmd)
	cmd.Flags().StringVar(&in.BaseURL, "base-url", "", "`URL` of a compatible endpoint")
	cmd.Flags().BoolVar(&in.Bearer, "bearer", false, "send it as a bearer token, as some compatible endpoints ask for")
	cmd.Flags().StringVar(&in.Model, "model", "", "`model` of agents that name none")
	cmd.Flags().StringVar(&in.Haiku, "haiku-model", "", "`model` that stands for Haiku")
	cmd.Flags().StringVar(&in.Sonnet, "sonnet-model", "", "`model` that stands for Sonnet")
	cmd.Flags().StringVar(&in.Opus, "opus-model", "", "`model` that stands for Opus")
	return cmd
}

func (s *session) credentialsRemove() *cobra.Command {
	var of whose
	cmd := s.verb("rm <kind>", "Remove a credential; the next one in the fallback order takes its place", oneKind,
		func(ctx context.Context, api *client.Client, args []string) error {
			scope, project, err := of.place(ctx, api)
			if err == nil {
				err = api.RemoveCredential(ctx, args[0], scope, project)
			}
			return s.answer(map[string]string{"kind": args[0], "scope": cmp.Or(scope, credential.ScopeUser), "state": "removed"}, err, func() {
				s.say("%s is removed. Running sandboxes keep what they were given; revoke it at the provider to end that at once.", args[0])
			})
		})
	of.flags(cmd)
	return cmd
}
