package taskcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
)

func newKeys(s *session) *cobra.Command {
	cmd := noun("keys", "Create, list and revoke API keys",
		s.keysCreate(), listVerb(s, "List the API keys of your organization", (*client.Client).Keys, s.keyTable), s.keysRevoke())
	cmd.Long = "Create, list and revoke API keys. Programs send one as Authorization: Bearer <key>; these commands take theirs from OMOI_API_KEY."
	return cmd
}

func (s *session) keysCreate() *cobra.Command {
	var in client.CreateAPIKeyRequest
	var expires time.Duration
	cmd := s.verb("create <name>", "Create an API key, and print its secret once", exactly(1, "a name for the key"),
		func(ctx context.Context, api *client.Client, _ []string) error {
			made, err := api.CreateKey(ctx, in)
			return s.answer(made, err, func() {
				s.say("%s", made.Secret)
				s.note("Created key %s (%s), expires %s. The secret is not shown again. Next: export OMOI_API_KEY=<secret>", render.Short(made.ID), render.OneLine(made.Name, 60), expiry(made.ExpiresAt))
			})
		})
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		in.Name = args[0]
		if cmd.Flags().Changed("expires") {
			in.ExpiresAt = new(time.Now().Add(expires))
		}
		return nil
	}
	cmd.Flags().StringSliceVar(&in.Scopes, "scope", nil, "scope of the key: read, write or admin; each includes the ones before (default write)")
	cmd.Flags().StringVar(&in.User, "user", "", "`name` of the user who owns the tasks and credentials of the key (default: you)")
	cmd.Flags().DurationVar(&expires, "expires", 0, "how long the key is valid, for example 24h (default: no expiry)")
	return cmd
}

func (s *session) keyTable(keys []client.APIKey) {
	heading := "KEY|NAME|USER|PREFIX|SCOPES|STATE|EXPIRES|LAST USED"
	list(s, keys, "No keys. Next: omoi keys create <name>", heading, func(k client.APIKey) []string {
		return []string{
			render.Short(k.ID), render.OneLine(k.Name, 40), render.OneLine(k.User, 40), k.Prefix, strings.Join(k.Scopes, ","), keyState(k), expiry(k.ExpiresAt),
			moment(k.LastUsedAt),
		}
	})
}

// expiry renders the time at which a key expires.
func expiry(at *time.Time) string {
	switch {
	case at == nil:
		return "never"
	case at.After(time.Now()):
		return at.Local().Format(time.DateTime) + " (in " + render.Elapsed(time.Until(*at)) + ")"
	}
	return moment(at)
}

func keyState(k client.APIKey) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && k.ExpiresAt.Before(time.Now()):
		return "expired"
	}
	return "valid"
}

func (s *session) keysRevoke() *cobra.Command {
	return s.verb("revoke <key or name>", "Revoke an API key at once", exactly(1, "the name of a key, its ID, or 4 or more characters of the ID"),
		func(ctx context.Context, api *client.Client, args []string) error {
			keys, err := api.Keys(ctx)
			if err != nil {
				return err
			}
			key, err := kind[client.APIKey]{noun: "key", list: "omoi keys list", id: func(k client.APIKey) string { return k.ID }, name: activeName}.pick(keys, args[0])
			if err == nil {
				err = api.RevokeKey(ctx, key.ID)
			}
			return s.answer(map[string]string{"id": key.ID, "state": "revoked"}, err, func() {
				s.say("Revoked key %s (%s).", render.Short(key.ID), render.OneLine(key.Name, 60))
			})
		})
}

// activeName returns the name of an active key; empty for a revoked one, which can be named by its ID only.
func activeName(k client.APIKey) string {
	if k.RevokedAt != nil {
		return ""
	}
	return k.Name
}

// NoArgs checks that a command has no arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func exactly(n int, what string) cobra.PositionalArgs { return between(n, n, what) }

func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return exit.Usagef("%s takes %s", cmd.CommandPath(), what)
		}
		return nil
	}
}
