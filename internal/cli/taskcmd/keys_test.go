package taskcmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.omoi("keys", "create", "ci", "--scope", "read")
	require.Equal(t, "omoi_secret\n", got.out, "the secret alone, so that it can be piped")
	f.keys = []client.APIKey{{ID: idA, Name: "ci", Prefix: "omoi_abc"}, {ID: idB, Name: "old", RevokedAt: &time.Time{}}}
	got = f.omoi("keys", "list")
	require.Contains(t, got.out, "omoi_abc")
	require.Contains(t, got.out, "revoked")
	require.Zero(t, f.omoi("keys", "revoke", "89ab").code)
	require.Equal(t, []string{"revoke " + idA}, f.asked)
	require.Equal(t, exit.Failed, f.omoi("keys", "revoke", "ffff").code)
	require.Equal(t, exit.Usage, f.omoi("keys", "revoke", "01931f6e").code)
	require.Equal(t, exit.Usage, f.omoi("keys", "create").code)
}

func TestKeys_RevokeByName(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.keys = []client.APIKey{{ID: idA, Name: "ci"}, {ID: idB, Name: "ci", RevokedAt: &time.Time{}}, {ID: idC, Name: "laptop"}}
	require.Zero(t, f.omoi("keys", "revoke", "ci").code, "the other one of that name is revoked already")
	require.Zero(t, f.omoi("keys", "revoke", "laptop").code)
	require.Equal(t, []string{"revoke " + idA, "revoke " + idC}, f.asked)
	f.keys[2].Name = "ci"
	got := f.omoi("keys", "revoke", "ci")
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.err, idA)
	require.Contains(t, got.err, idC)
	require.Contains(t, f.omoi("keys", "revoke", "cd").err, "omoi keys list")
	require.Len(t, f.asked, 2)
}

// keys create prints the expiry of a key, keys list the time until then.
func TestKeys_Expiry(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.omoi("keys", "create", "ci", "--expires", "24h")
	require.Zero(t, got.code, got.err)
	require.WithinDuration(t, time.Now().Add(24*time.Hour), *f.newKeys[0].ExpiresAt, time.Minute)
	require.Contains(t, got.err, "(in 23h59m)")
	require.Contains(t, f.omoi("keys", "create", "ci").err, "expires never")
	require.Zero(t, f.omoi("keys", "create", "ci", "--expires", "-1h").code)
	require.True(t, f.newKeys[2].ExpiresAt.Before(time.Now()), "the server refuses a time that is over")

	soon, past := time.Now().Add(48*time.Hour), time.Now().Add(-time.Hour)
	f.keys = []client.APIKey{{ID: idA, Name: "soon", ExpiresAt: &soon}, {ID: idA, Name: "over", ExpiresAt: &past}, {ID: idB, Name: "always"}}
	out := f.omoi("keys", "list").out
	require.Regexp(t, `soon .* valid +\d{4}-.* \(in 1d23h\)`, out)
	require.Regexp(t, `over .* expired +\d{4}-.* \(1h00m ago\)`, out)
	require.Regexp(t, `always .* valid +never`, out)
}
