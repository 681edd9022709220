package taskcmd

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxKeyName is what the server takes, in characters.
const maxKeyName = 100

func newKeys(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make, list and revoke API keys"}
	cmd.Long = "Make, list and revoke API keys. Programs send one as Authorization: Bearer <key>; these commands take theirs from OMOI_API_KEY."
	cmd.AddCommand(s.keysCreate(), s.keysList(), s.keysRevoke())
	return cmd
}

func (s *session) keysCreate() *cobra.Command {
	var scopes []string
	var user string
	var expires time.Duration
	cmd := &cobra.Command{
		Use:   "create <name>",
		Short: "Make an API key; its secret is shown this once",
		Args:  exactly(1, "a name for the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := client.NewKey{Name: args[0], Scopes: scopes, User: user}
			if cmd.Flags().Changed("expires") {
				if expires <= 0 {
					return exit.Usagef("--expires %s: the key would never be good; give a time ahead, as 24h, or leave it out for a key without end", expires)
				}
				at := time.Now().Add(expires)
				in.ExpiresAt = &at
			}
			if length := utf8.RuneCountInString(in.Name); length == 0 || length > maxKeyName {
				return exit.Usagef("the name of a key has 1 to %d characters, this one %d", maxKeyName, length)
			}
			api, err := s.api()
			if err != nil {
				return err
			}
			made, err := api.CreateKey(cmd.Context(), in)
			if err != nil {
				return err
			}
			return s.keyMade(made)
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "read, write or admin; each includes those before it (default write)")
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user for whom it speaks, and whose tasks and credentials are his own (default: you)")
	cmd.Flags().DurationVar(&expires, "expires", 0, "how long it is good for, as 24h (default: for ever)")
	return cmd
}

func (s *session) keyMade(made client.MadeKey) error {
	if s.json {
		return s.printJSON(made)
	}
	s.say("%s", made.Secret)
	s.hint("Key %s (%s), expires %s. It is not shown again; use it as OMOI_API_KEY.",
		render.Short(made.ID), render.OneLine(made.Name, 60), expiry(made.ExpiresAt))
	return nil
}

func (s *session) keysList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the API keys of your organization",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			keys, err := api.Keys(cmd.Context())
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(keys)
			}
			s.keyTable(keys)
			return nil
		},
	}
}

func (s *session) keyTable(keys []client.Key) {
	if len(keys) == 0 {
		s.hint("No keys. Next: omoi keys create <name>")
		return
	}
	rows := [][]string{{"KEY", "NAME", "USER", "BEGINS", "SCOPES", "STATE", "EXPIRES", "LAST USED"}}
	for _, k := range keys {
		rows = append(rows, []string{
			render.Short(k.ID), render.OneLine(k.Name, 40), render.OneLine(k.User, 40), k.Prefix, strings.Join(k.Scopes, ","), keyState(k), expiry(k.ExpiresAt),
			moment(k.LastUsedAt),
		})
	}
	_, _ = fmt.Fprint(s.Stdout, s.style().Table(rows))
}

// expiry is the moment at which a key ends.
func expiry(at *time.Time) string {
	switch {
	case at == nil:
		return "never"
	case at.After(time.Now()):
		return at.Local().Format("2006-01-02 15:04:05") + " (in " + render.Elapsed(time.Until(*at)) + ")"
	}
	return moment(at)
}

func keyState(k client.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && k.ExpiresAt.Before(time.Now()):
		return "expired"
	}
	return "good"
}

func (s *session) keysRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke <key or name>",
		Short: "End an API key at once",
		Args:  exactly(1, "the name of a key, its id, or 4 or more characters of the id's beginning or end"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			keys, err := api.Keys(cmd.Context())
			if err != nil {
				return err
			}
			key, err := findKey(keys, args[0])
			if err != nil {
				return err
			}
			if err := api.RevokeKey(cmd.Context(), key.ID); err != nil {
				return err
			}
			if s.json {
				return s.printJSON(map[string]string{"id": key.ID, "state": "revoked"})
			}
			s.say("%s  %s is revoked.", render.Short(key.ID), render.OneLine(key.Name, 60))
			return nil
		},
	}
}

// findKey resolves what a person typed for a key: its name, where one good key has it, or a part of its id.
func findKey(keys []client.Key, ref string) (client.Key, error) {
	var found []client.Key
	for _, k := range keys {
		named := k.Name == ref && k.RevokedAt == nil
		if named || len(ref) >= minFragment && partOf(k.ID, ref) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return client.Key{}, manyKeys(ref, found)
	case len(ref) < minFragment:
		return client.Key{}, exit.Usagef("no good key is called %q; of an id give 4 or more characters. Next: omoi keys list", ref)
	}
	return client.Key{}, task.Errorf(task.CodeNotFound, "No key begins or ends with %q, and no good one is called so. Next: omoi keys list", ref)
}

func manyKeys(ref string, keys []client.Key) error {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "\n  %s  %s", k.ID, render.OneLine(k.Name, 60))
	}
	return exit.Usagef("%q fits more than one key; give more of the id:%s", ref, b.String())
}

// NoArgs is the argument check of commands that take none. What stands behind one that has commands was meant as one.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasSubCommands() {
		return exit.Usagef("there is no command %q in %s (%s --help lists them)", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return exit.Usagef("%s takes %s", cmd.CommandPath(), what)
		}
		return nil
	}
}
