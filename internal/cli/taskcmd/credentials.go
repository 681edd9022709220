package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

func newCredentials(s *session) *cobra.Command {
	cmd := noun("credentials", "Manage model API keys and GitHub tokens",
		s.credentialsSet(), listVerb(s, "List credentials, without secrets", (*client.Client).Credentials, s.credentialTable),
		s.credentialsTest(), s.credentialsRemove(), s.verb("rotate", "Re-encrypt all credentials with the first key (scope admin)", NoArgs, s.rotate))
	cmd.Long = `Manage model API keys and GitHub tokens (docs/CREDENTIALS.md).

A task uses the credentials of the user who created it, else those of its project, of the organization, or of the
server's configuration, in this order. Of several credentials of one kind and owner, it uses the lowest number that
is not rate limited.`
	return cmd
}

// whose holds the flags that choose the owner of a credential.
type whose struct {
	project      string
	organization bool
}

func (w *whose) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.project, "project", "", "credential of this `project`, for all its tasks (scope admin)")
	cmd.Flags().BoolVar(&w.organization, "organization", false, "credential of the organization, for all its users (scope admin)")
}

// place returns scope and project ID for the API. Empty means the caller.
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
	heading := "KIND|NUMBER|OWNER|VALUE|ENDPOINT|MODEL|STATE|SET|LAST USED"
	list(s, all, noCredentials, heading, func(c client.Credential) []string {
		set, used := "configured", ""
		if c.UpdatedAt != nil {
			set, used = moment(c.UpdatedAt), moment(c.UsedAt)
		}
		return []string{c.Kind, strconv.Itoa(max(c.Number, 1)), owned(c), c.Masked, c.BaseURL, c.Model, credentialState(c), set, used}
	})
}

// credentialState renders whether tasks can use a credential. omoi credentials test tells whether its provider accepts it.
func credentialState(c client.Credential) string {
	switch {
	case c.State == credential.StateUndecryptable:
		return "undecryptable: no key " + c.KeyID
	case c.ResetsAt != nil:
		return "rate limited until " + c.ResetsAt.Local().Format(time.DateTime)
	}
	return "stored"
}

const noCredentials = "No credentials. Next: omoi credentials set <kind>, where the kind is anthropic, claude_oauth or github"

// owned renders the owner of a credential.
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

// numbered returns a kind, and the number of a credential that is not the first.
func numbered(kind string, number int) string {
	if number > 1 {
		return fmt.Sprintf("%s %d", kind, number)
	}
	return kind
}

func numberOption(number int) string {
	if number > 1 {
		return fmt.Sprintf(" --number %d", number)
	}
	return ""
}

// kindArg refuses a secret as an argument: other processes can read command lines.
func kindArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes only a kind: other users can read a secret on a command line, and the shell stores it in its history. Next: type the secret when asked, or pipe it in", cmd.CommandPath())
	}
	return exactly(1, "a kind: anthropic, claude_oauth, github, or the name of another provider")(cmd, args)
}

func (s *session) credentialsSet() *cobra.Command {
	var in client.SetCredentialRequest
	var of whose
	cmd := s.verb("set <kind>", "Set a credential; type its value, or pipe it in", kindArg,
		func(ctx context.Context, api *client.Client, args []string) (err error) {
			if in.Scope, in.ProjectID, err = of.place(ctx, api); err != nil {
				return err
			}
			if in.Secret, err = s.secret(ctx, args[0]); err != nil {
				return err
			}
			c, err := api.SetCredential(ctx, args[0], in)
			return s.answer(c, err, func() {
				s.say("%s  %s  %s", numbered(c.Kind, c.Number), owned(c), c.Masked)
				s.hint("Next: omoi credentials test %s%s", c.Kind, numberOption(c.Number))
			})
		})
	cmd.Long = "Set a credential: anthropic, claude_oauth, github, or another model provider. The command asks for the value, or reads it from standard input."
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		return cmp.Or(credential.CheckKind(args[0]), checkNumber(cmd, in.Number))
	}
	of.flags(cmd)
	numberFlag(cmd, &in.Number, "`number` of this credential, 1 to 9: while 1 is rate limited, tasks use 2, and so on")
	cmd.Flags().StringVar(&in.BaseURL, "base-url", "", "`URL` of a compatible endpoint")
	cmd.Flags().BoolVar(&in.Bearer, "bearer", false, "send the key as a bearer token, which some compatible endpoints require")
	cmd.Flags().StringVar(&in.Model, "model", "", "default `model` of agents")
	cmd.Flags().StringVar(&in.Haiku, "haiku-model", "", "`model` to use for Haiku")
	cmd.Flags().StringVar(&in.Sonnet, "sonnet-model", "", "`model` to use for Sonnet")
	cmd.Flags().StringVar(&in.Opus, "opus-model", "", "`model` to use for Opus")
	return cmd
}

func (s *session) credentialsRemove() *cobra.Command {
	var of whose
	var number int
	cmd := s.verb("rm <kind>", "Delete a credential; the next one in the fallback order applies", kindArg,
		func(ctx context.Context, api *client.Client, args []string) error {
			scope, project, err := of.place(ctx, api)
			if err == nil {
				err = api.RemoveCredential(ctx, args[0], scope, project, number)
			}
			return s.answer(map[string]any{"kind": args[0], "scope": cmp.Or(scope, credential.ScopeUser), "number": max(number, 1), "state": "removed"}, err, func() {
				s.say("Deleted credential %s. Running sandboxes keep it until they end; to end its use at once, revoke it at the provider.", numbered(args[0], number))
			})
		})
	of.flags(cmd)
	numberFlag(cmd, &number, "delete the credential with this `number`")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return checkNumber(cmd, number) }
	return cmd
}

func numberFlag(cmd *cobra.Command, number *int, usage string) {
	cmd.Flags().IntVar(number, "number", 0, usage+" (default 1)")
}

// checkNumber refuses --number 0, which the server takes for the default.
func checkNumber(cmd *cobra.Command, number int) error {
	if number != 0 || !cmd.Flags().Changed("number") {
		return nil
	}
	return exit.Usagef("invalid value \"0\" of --number: must be 1 to %d. Next: %s --help", credential.MaxNumber, cmd.CommandPath())
}

func (s *session) credentialsTest() *cobra.Command {
	of, number := whose{}, 0
	cmd := s.verb("test [kind]", "Test the credentials that your tasks would use", cobra.MaximumNArgs(1),
		func(ctx context.Context, api *client.Client, kinds []string) error {
			_, id, err := of.place(ctx, api)
			var what []client.Credential
			for _, kind := range kinds {
				what = append(what, client.Credential{Kind: kind, Number: number})
			}
			if err == nil && len(kinds) == 0 {
				what, err = toTest(ctx, api, id)
			}
			if err != nil {
				return err
			}
			return s.testCredentials(ctx, api, what, id)
		})
	cmd.Flags().StringVar(&of.project, "project", "", "test what a task of this `project` would use")
	cmd.Flags().IntVar(&number, "number", 0, "test the credential with this `number`; needs a kind")
	cmd.PreRunE = func(cmd *cobra.Command, kinds []string) error {
		if number != 0 && len(kinds) == 0 {
			return exit.Usagef("--number needs a kind. Next: omoi credentials test <kind> --number %d", number)
		}
		return checkNumber(cmd, number)
	}
	return cmd
}

// toTest returns kind and number of all credentials that a task would use, without duplicates. With a project ID,
// credentials of other projects are left out.
func toTest(ctx context.Context, api *client.Client, projectID string) ([]client.Credential, error) {
	all, err := api.Credentials(ctx)
	var what []client.Credential
	for _, c := range all {
		one := client.Credential{Kind: c.Kind, Number: c.Number}
		if (c.ProjectID == "" || c.ProjectID == projectID) && !slices.Contains(what, one) {
			what = append(what, one)
		}
	}
	return what, err
}

// testCredentials prints the results and returns the exit code of the worst.
func (s *session) testCredentials(ctx context.Context, api *client.Client, what []client.Credential, projectID string) error {
	trials, code := []credential.Test{}, exit.Done
	for _, c := range what {
		t, err := api.TestCredential(ctx, c.Kind, projectID, c.Number)
		if err != nil {
			return err
		}
		trials = append(trials, t)
		switch {
		case t.State == credential.StateRejected:
			code = exit.NeedsYou
		case t.State == credential.StateUnreachable && code == exit.Done:
			code = exit.Unreachable
		}
	}
	err := s.answer(trials, nil, func() {
		for _, t := range trials {
			s.say("%s  %s  %s: %s", numbered(t.Kind, t.Number), owned(client.Credential{Scope: t.Scope, ProjectID: projectID}), t.State, t.Message)
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
	err = s.answer(done, err, func() { s.say("Re-encrypted %s with key %s.", task.Count(done.Rotated, "credential"), done.KeyID) })
	if err == nil && done.Undecryptable > 0 {
		err = exit.With(exit.NeedsYou, fmt.Errorf("%d credentials cannot be decrypted: the keys %s are missing. Next: add these to OMOI_CREDENTIAL_KEYS, or set the credentials again",
			done.Undecryptable, strings.Join(done.MissingKeyIDs, ", ")))
	}
	return err
}
