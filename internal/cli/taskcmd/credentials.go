package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/credential"
)

func newCredentials(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "credentials", Short: "Keep what agents and git log in with: keys of models, tokens of GitHub",
		Long: `Keep what agents and git log in with: keys of models, tokens of GitHub (docs/CREDENTIALS.md).

A task works with the credentials of the user who asked for it, else with those of its project, of the
organization, of the server's configuration.`,
	}
	cmd.AddCommand(s.credentialsSet(), s.credentialsList(), s.credentialsTest(), s.credentialsRemove(), s.credentialsRotate())
	return cmd
}

// whose says whose credential is meant.
type whose struct {
	project      string
	organization bool
}

func (w *whose) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.project, "project", "", "that of a `project`, for all who work on it (scope admin)")
	cmd.Flags().BoolVar(&w.organization, "organization", false, "that of the organization, for all in it (scope admin)")
}

// place is scope and project on the wire; empty: the caller's own.
func (w *whose) place(ctx context.Context, api *client.Client) (scope, projectID string, err error) {
	switch {
	case w.project != "" && w.organization:
		return "", "", exit.Usagef("give --project or --organization, not both")
	case w.organization:
		return credential.ScopeOrganization, "", nil
	case w.project == "":
		return "", "", nil
	}
	id, err := projectNamed(ctx, api, w.project)
	return credential.ScopeProject, id, err
}

func projectNamed(ctx context.Context, api *client.Client, ref string) (string, error) {
	projects, err := allProjects(ctx, api)
	if err != nil {
		return "", err
	}
	p, err := findProject(projects, ref)
	return p.ID, err
}

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

func (s *session) credentialsList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List your credentials and those of projects, organization and server, without secrets",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			all, err := api.Credentials(cmd.Context())
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(all)
			}
			s.credentialTable(all)
			return nil
		},
	}
}

func (s *session) credentialTable(all []client.Credential) {
	if len(all) == 0 {
		s.hint("No credentials. Next: omoi credentials set anthropic, claude_oauth or github")
		return
	}
	rows := [][]string{{"KIND", "WHOSE", "VALUE", "ENDPOINT", "MODEL", "STATE", "SET", "LAST USED"}}
	for _, c := range all {
		set, used := "configured", ""
		if c.UpdatedAt != nil {
			set, used = moment(c.UpdatedAt), moment(c.UsedAt)
		}
		rows = append(rows, []string{c.Kind, owned(c), c.Masked, c.BaseURL, c.Model, credentialState(c), set, used})
	}
	_, _ = fmt.Fprint(s.Stdout, s.style().Table(rows))
}

// owned says whose a credential is.
func owned(c client.Credential) string {
	switch c.Scope {
	case credential.ScopeUser:
		return "yours"
	case credential.ScopeProject:
		return "project " + render.Short(c.ProjectID)
	case credential.ScopeInstallation:
		return "the server's"
	}
	return "the organization's"
}

func credentialState(c client.Credential) string {
	if c.State == credential.StateUnreadable {
		return "unreadable: no key " + c.KeyID
	}
	return c.State
}

func (s *session) credentialsTest() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use:   "test [kind]",
		Short: "Ask the provider whether a credential works that a task of yours would be given; without a kind, each",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			id := ""
			if project != "" {
				if id, err = projectNamed(cmd.Context(), api, project); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				if args, err = kindsToTest(cmd.Context(), api); err != nil {
					return err
				}
			}
			return s.testCredentials(cmd.Context(), api, args, id)
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "as a task of this `project` would be given")
	return cmd
}

// kindsToTest are all that there are, each once.
func kindsToTest(ctx context.Context, api *client.Client) ([]string, error) {
	all, err := api.Credentials(ctx)
	var kinds []string
	for _, c := range all {
		if c.Scope != credential.ScopeProject && !slices.Contains(kinds, c.Kind) {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds, err
}

func (s *session) testCredentials(ctx context.Context, api *client.Client, kinds []string, projectID string) error {
	trials := []credential.Trial{}
	for _, kind := range kinds {
		t, err := api.TestCredential(ctx, kind, projectID)
		if err != nil {
			return err
		}
		trials = append(trials, t)
		if !s.json {
			s.say("%s  %s  %s: %s", t.Kind, owned(client.Credential{Scope: t.Scope, ProjectID: projectID}), t.State, t.Says)
		}
	}
	if s.json {
		if err := s.printJSON(trials); err != nil {
			return err
		}
	} else if len(trials) == 0 {
		s.hint("No credentials. Next: omoi credentials set anthropic, claude_oauth or github")
	}
	return worst(trials)
}

// worst is the exit code of what was found: all is said already.
func worst(trials []credential.Trial) error {
	code := exit.Done
	for _, t := range trials {
		switch t.State {
		case credential.StateRefused:
			return exit.With(exit.NeedsYou, nil)
		case credential.StateUnreachable:
			code = exit.Unreachable
		}
	}
	if code != exit.Done {
		return exit.With(code, nil)
	}
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

func (s *session) credentialsRotate() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Encrypt all credentials of the installation under its first key (scope admin)",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			done, err := api.RotateCredentials(cmd.Context())
			if err != nil {
				return err
			}
			return s.rotated(done)
		},
	}
}

func (s *session) rotated(done credential.Rotation) error {
	if s.json {
		if err := s.printJSON(done); err != nil {
			return err
		}
	} else {
		s.say("%d encrypted anew under the key %s.", done.Rotated, done.KeyID)
	}
	if done.Unreadable == 0 {
		return nil
	}
	return exit.With(exit.NeedsYou, fmt.Errorf("%d could not be read: they need the keys %s. Next: add these to OMOI_CREDENTIAL_KEYS, or have the credentials set again",
		done.Unreadable, strings.Join(done.Missing, ", ")))
}
