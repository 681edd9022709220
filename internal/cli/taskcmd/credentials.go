package taskcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/credential"
)

func newCredentials(s *session) *cobra.Command {
	cmd := noun("credentials", "Manage model API keys and GitHub tokens",
		s.credentialsSet(), listVerb(s, "List credentials of user, projects, organization and server, without secrets", (*client.Client).Credentials, s.credentialTable),
		s.credentialsTest(), s.credentialsRemove(), s.verb("rotate", "Re-encrypt all credentials with the installation's first key (scope admin)", NoArgs, s.rotate))
	cmd.Long = `Manage model API keys and GitHub tokens (docs/CREDENTIALS.md).

A task works with the credentials of the user who created it, else with those of its project, of the
organization, of the server's configuration.`
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
	p, err := projectOf(ctx, api, w.project)
	return credential.ScopeProject, p.ID, err
}

func (s *session) credentialTable(all []client.Credential) {
	heading := "KIND|OWNER|VALUE|ENDPOINT|MODEL|STATE|SET|LAST USED"
	list(s, all, noCredentials, heading, func(c client.Credential) []string {
		set, used := "configured", ""
		if c.UpdatedAt != nil {
			set, used = moment(c.UpdatedAt), moment(c.UsedAt)
		}
		state := c.State
		if state == credential.StateUnreadable {
			state = "unreadable: no key " + c.KeyID
		}
		return []string{c.Kind, owned(c), c.Masked, c.BaseURL, c.Model, state, set, used}
	})
}

const noCredentials = "No credentials. Next: omoi credentials set anthropic, claude_oauth or github"

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
