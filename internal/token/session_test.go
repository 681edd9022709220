package token_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

func TestSession_IsSignedAndEnds(t *testing.T) {
	t.Parallel()
	ring, err := token.NewRing(token.Key{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}, nil)
	require.NoError(t, err)
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	secret := ring.MintSession("key", until)
	require.True(t, token.LooksSession(secret))
	require.False(t, token.Looks(secret))
	key, ends, err := ring.Session(secret)
	require.NoError(t, err)
	require.Equal(t, []any{"key", until}, []any{key, ends})

	other, err := token.NewRing(token.Key{ID: "k1", Secret: []byte(strings.Repeat("o", 32))}, nil)
	require.NoError(t, err)
	_, mac, _ := strings.Cut(secret, ".v1.")
	for _, bad := range []string{
		"", "s1.", "s1.key.x." + mac, strings.Replace(secret, "key", "kez", 1), secret + "x", ring.Mint("key"),
		ring.MintSession("key", time.Now().Add(-time.Second)), other.MintSession("key", until),
		"s1.key.9999999999.v1." + mac,
	} {
		_, _, err := ring.Session(bad)
		require.Equal(t, task.CodeUnauthorized, task.CodeOf(err), bad)
	}
}
