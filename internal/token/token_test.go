package token_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

func key(id, letter string) token.Key {
	return token.Key{ID: id, Secret: []byte(strings.Repeat(letter, 32))}
}

func TestTokenOpensItsOwnSandboxOnly(t *testing.T) {
	t.Parallel()
	ring, err := token.NewRing(key("k1", "a"), nil)
	require.NoError(t, err)
	mine := ring.Mint("mine")
	require.True(t, strings.HasPrefix(mine, "v1.k1."))
	require.NotContains(t, mine, "mine")
	require.NoError(t, ring.Verify(mine, "mine"))
	require.Equal(t, task.CodeForbidden, task.CodeOf(ring.Verify(mine, "yours")))
}

func TestKeyCanBeChangedWhileSandboxesLive(t *testing.T) {
	t.Parallel()
	old, err := token.NewRing(key("k1", "a"), nil)
	require.NoError(t, err)
	previous := key("k1", "a")
	both, err := token.NewRing(key("k2", "b"), &previous)
	require.NoError(t, err)
	require.NoError(t, both.Verify(old.Mint("s"), "s"))
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(old.Verify(both.Mint("s"), "s")))
}

func TestMalformedTokensAreUnauthorized(t *testing.T) {
	t.Parallel()
	ring, err := token.NewRing(key("k1", "a"), nil)
	require.NoError(t, err)
	for _, bad := range []string{"", "v1", "v1.k1", "v2.k1.x", "v1.k9.x", "v1.k1.x.y", "sk_live_x"} {
		require.Equal(t, task.CodeUnauthorized, task.CodeOf(ring.Verify(bad, "s")), bad)
	}
	require.Equal(t, task.CodeForbidden, task.CodeOf(ring.Verify("v1.k1.", "s")))
	stranger, err := token.NewRing(key("k1", "b"), nil)
	require.NoError(t, err)
	require.Equal(t, task.CodeForbidden, task.CodeOf(ring.Verify(stranger.Mint("s"), "s")))
}

func TestRingRefusesWeakAndAmbiguousKeys(t *testing.T) {
	t.Parallel()
	_, err := token.NewRing(token.Key{ID: "k", Secret: []byte("short")}, nil)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	_, err = token.NewRing(key("a.b", "a"), nil)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	same := key("k", "b")
	_, err = token.NewRing(key("k", "a"), &same)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}

func TestPrintsTellKeysApart(t *testing.T) {
	t.Parallel()
	previous := key("k1", "a")
	ring, err := token.NewRing(key("k2", "b"), &previous)
	require.NoError(t, err)
	old, err := token.NewRing(previous, nil)
	require.NoError(t, err)
	other, err := token.NewRing(key("k2", "c"), nil)
	require.NoError(t, err)
	require.True(t, ring.Holds(ring.Signs()))
	require.True(t, ring.Holds(old.Signs()))
	require.False(t, ring.Holds(other.Signs()), "the same id over another secret")
	require.False(t, ring.Holds(token.Print{}))
	require.NotContains(t, ring.Signs().Hash, "bbbb")
	require.Error(t, ring.Verify("v1.k2."+ring.Signs().Hash, "the key k2"), "a print is no token")
}

// Every request of an agent passes here.
func TestCheckingATokenAllocatesNextToNothing(t *testing.T) { //nolint:paralleltest // allocations of others would count
	ring, err := token.NewRing(key("k-1", "a"), nil)
	require.NoError(t, err)
	mine := ring.Mint("sandbox")
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = ring.Verify(mine, "sandbox") }), 4.0, "a pool may be emptied now and then")
	require.NoError(t, ring.Verify(mine, "sandbox"))
	require.Error(t, ring.Verify(mine, "another"))
}
