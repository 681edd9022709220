package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/credential"
)

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
				if args, err = kindsToTest(cmd.Context(), api, id); err != nil {
					return err
				}
			}
			return s.testCredentials(cmd.Context(), api, args, id)
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "as a task of this `project` would be given")
	return cmd
}

// kindsToTest are all that a task would find, each once: of projects, those of its own.
func kindsToTest(ctx context.Context, api *client.Client, projectID string) ([]string, error) {
	all, err := api.Credentials(ctx)
	var kinds []string
	for _, c := range all {
		if c.ProjectID != "" && c.ProjectID != projectID {
			continue
		}
		if !slices.Contains(kinds, c.Kind) {
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
