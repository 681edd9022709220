package taskcmd

import (
	"context"
	"fmt"

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
	case credential.ScopeApp:
		return "the server's App"
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
