package credential_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestParseRing_ErrorsContainNoKey(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	good := base64.StdEncoding.EncodeToString([]byte(secret))
	for _, text := range []string{credential.NewKey(), "k1:" + good, "k1:" + strings.TrimRight(good, "="), "k1:" + good + ", k2:" + base64.URLEncoding.EncodeToString([]byte(strings.Repeat("\xff", 32)))} {
		ring, err := credential.ParseRing(text)
		require.NoError(t, err, text)
		require.NotEmpty(t, ring.First())
	}
	for _, text := range []string{"", "k1", good, "k1:" + good[:20], "k1:" + good + good, "k1:" + good + ",", "k1:" + good + ",k1:" + good, ":" + good, "k 1:" + good, "k1:" + secret} {
		_, err := credential.ParseRing(text)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), text)
		require.ErrorContains(t, err, "credential.keys")
		require.NotContains(t, err.Error(), secret)
		require.NotContains(t, err.Error(), good)
	}
}

func TestSet_EncryptsTheSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.set(credential.Who{UserID: alice}, "openai", "planted-openai-key")
	b.set(credential.Who{UserID: bob}, "openai", "planted-openai-key")
	require.NotContains(t, string(b.rows[0].Sealed), "planted")
	require.NotEqual(t, b.rows[0].Sealed, b.rows[1].Sealed)
}

// Write access to the database does not allow moving a key to another user or endpoint.
func TestFind_RefusesMovedRows(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(r, theirs *credential.Row){
		"user":         func(r, _ *credential.Row) { r.UserID = bob },
		"project":      func(r, _ *credential.Row) { r.UserID, r.ProjectID = "", shop },
		"organization": func(r, _ *credential.Row) { r.UserID = "" },
		"kind":         func(r, _ *credential.Row) { r.Kind = credential.Anthropic },
		"content":      func(r, theirs *credential.Row) { r.Sealed = theirs.Sealed },
		"bit":          func(r, _ *credential.Row) { r.Sealed[len(r.Sealed)-1] ^= 1 },
		"cut":          func(r, _ *credential.Row) { r.Sealed = r.Sealed[:5] },
		"key":          func(r, _ *credential.Row) { r.KeyID = "another" },
	} {
		b := newBench(t, map[string]credential.Value{credential.GitHub: {Secret: "ghp_installation"}, credential.Anthropic: {Secret: "sk-installation"}})
		b.set(credential.Who{UserID: alice}, credential.GitHub, "ghp_alice000")
		b.set(credential.Who{UserID: alice}, "openai", "openai-alice")
		move(&b.rows[0], &b.rows[1])
		who := credential.Who{OrganizationID: org, UserID: b.rows[0].UserID, ProjectID: b.rows[0].ProjectID}
		found, err := b.service.Find(t.Context(), who, b.rows[0].Kind, 0)
		require.Equal(t, task.CodeNotFound, task.CodeOf(err), name)
		require.ErrorContains(t, err, "omoi credentials set", name)
		require.Empty(t, found.Secret, "what cannot be read is no reason to take another's: %s", name)
		listed, err := b.service.List(t.Context(), who)
		require.NoError(t, err)
		require.Equal(t, credential.StateUndecryptable, listed[0].State, name)
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	m := &memory{}
	old, next, other := credential.NewKey(), credential.NewKey(), credential.NewKey()
	b := &bench{T: t, memory: m, service: m.service(t, old, nil)}
	for _, user := range []string{alice, bob} {
		b.set(credential.Who{UserID: user}, credential.GitHub, "ghp_of_"+user)
	}
	b.service = m.service(t, other, nil)
	b.set(credential.Who{ProjectID: shop}, credential.GitHub, "ghp_of_shop")
	b.service = m.service(t, next+","+old, nil)
	b.set(credential.Who{}, credential.GitHub, "ghp_of_all")

	first, _, _ := strings.Cut(next, ":")
	health, err := b.service.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, credential.Health{KeyID: first, Stored: 4, Unreadable: 1, Keys: []string{strings.SplitN(other, ":", 2)[0]}}, health)
	done, err := b.service.Rotate(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, done.Rotated)
	require.Equal(t, 1, done.Undecryptable)
	require.Equal(t, []string{strings.SplitN(other, ":", 2)[0]}, done.MissingKeyIDs)
	require.Equal(t, first, done.KeyID)

	b.service = m.service(t, next, nil) // without the old key
	found, err := b.service.Find(t.Context(), credential.Who{OrganizationID: org, UserID: alice}, credential.GitHub, 0)
	require.NoError(t, err)
	require.Equal(t, "ghp_of_alice", found.Secret)
	again, err := b.service.Rotate(t.Context())
	require.NoError(t, err)
	require.Zero(t, again.Rotated)
}
