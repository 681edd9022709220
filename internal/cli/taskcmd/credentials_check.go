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
	of := whose{}
	cmd := s.verb("test [kind]", "Test the credentials that your tasks would use; without a kind, all", cobra.MaximumNArgs(1),
		func(ctx context.Context, api *client.Client, kinds []string) error {
			_, id, err := of.place(ctx, api)
			if err == nil && len(kinds) == 0 {
				kinds, err = kindsToTest(ctx, api, id)
			}
			if err != nil {
				return err
			}
			return s.testCredentials(ctx, api, kinds, id)
		})
	cmd.Flags().StringVar(&of.project, "project", "", "as a task of this `project` would use them")
	return cmd
}

// kindsToTest are all that a task would find, each once: of projects, those of its own.
func kindsToTest(ctx context.Context, api *client.Client, projectID string) ([]string, error) {
	all, err := api.Credentials(ctx)
	var kinds []string
	for _, c := range all {
		if (c.ProjectID == "" || c.ProjectID == projectID) && !slices.Contains(kinds, c.Kind) {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds, err
}

// testCredentials returns the exit code of the worst result: everything is printed already.
func (s *session) testCredentials(ctx context.Context, api *client.Client, kinds []string, projectID string) error {
	trials, code := []credential.Trial{}, exit.Done
	for _, kind := range kinds {
		t, err := api.TestCredential(ctx, kind, projectID)
		if err != nil {
			return err
		}
		trials = append(trials, t)
		switch {
		case t.State == credential.StateRefused:
			code = exit.NeedsYou
		case t.State == credential.StateUnreachable && code == exit.Done:
			code = exit.Unreachable
		}
	}
	err := s.answer(trials, nil, func() {
		for _, t := range trials {
			s.say("%s  %s  %s: %s", t.Kind, owned(client.Credential{Scope: t.Scope, ProjectID: projectID}), t.State, t.Says)
		}
		if len(trials) == 0 {
			s.hint(noCredentials)
		}
	})
	if err == nil && code != exit.Done {
		err = exit.With(code, nil)
	}
	return err
}

func (s *session) rotate(ctx context.Context, api *client.Client, _ []string) error {
	done, err := api.RotateCredentials(ctx)
	err = s.answer(done, err, func() { s.say("%d re-encrypted with the key %s.", done.Rotated, done.KeyID) })
	if err == nil && done.Unreadable > 0 {
		err = exit.With(exit.NeedsYou, fmt.Errorf("%d could not be decrypted: they need the keys %s. Next: add these to OMOI_CREDENTIAL_KEYS, or have the credentials set again",
			done.Unreadable, strings.Join(done.Missing, ", ")))
	}
	return err
}
