package token_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

const secret = "a secret of more than thirty-two bytes"

func signed(t *testing.T, method jwt.SigningMethod, key any, more map[string]any) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": "ada", "type": "access", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "jti": "1"}
	maps.Copy(claims, more)
	text, err := jwt.NewWithClaims(method, claims).SignedString(key)
	require.NoError(t, err)
	return text
}

func TestLoginsSayWhoTheyAreOf(t *testing.T) {
	t.Parallel()
	logins, err := token.NewLogins(secret)
	require.NoError(t, err)
	for _, c := range []struct {
		claims map[string]any
		want   token.Login
	}{
		{nil, token.Login{User: "ada"}},
		{map[string]any{"org": "o", "scopes": []string{"read", "admin"}, "aud": "omoi"}, token.Login{User: "ada", OrganizationID: "o", Scopes: []string{"read", "admin"}}},
		{map[string]any{"scope": "read write", "aud": []string{"other", "omoi"}}, token.Login{User: "ada", Scopes: []string{"read", "write"}}},
		{map[string]any{"scope": ""}, token.Login{User: "ada", Scopes: []string{}}},
		{map[string]any{"scope": nil}, token.Login{User: "ada", Scopes: []string{}}},
		{map[string]any{"scopes": []string{}}, token.Login{User: "ada", Scopes: []string{}}},
		{map[string]any{"scopes": "read"}, token.Login{User: "ada", Scopes: []string{"read"}}},
	} {
		text := signed(t, jwt.SigningMethodHS256, []byte(secret), c.claims)
		require.True(t, token.LooksSigned(text))
		got, err := logins.Verify(text)
		require.NoError(t, err)
		require.Equal(t, c.want.User, got.User)
		require.Equal(t, c.want.OrganizationID, got.OrganizationID)
		require.Equal(t, c.want.Scopes, got.Scopes, "%v", c.claims)
	}
}

func TestBadLoginsAreRefused(t *testing.T) {
	t.Parallel()
	logins, err := token.NewLogins(secret)
	require.NoError(t, err)
	hs := jwt.SigningMethodHS256
	good := signed(t, hs, []byte(secret), nil)
	for name, text := range map[string]string{
		"another secret": signed(t, hs, []byte("another secret of thirty-two bytes"), nil),
		"no signature":   signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"another method": signed(t, jwt.SigningMethodHS512, []byte(secret), nil),
		"expired":        signed(t, hs, []byte(secret), map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"no end":         signed(t, hs, []byte(secret), map[string]any{"exp": nil}),
		"not yet":        signed(t, hs, []byte(secret), map[string]any{"nbf": time.Now().Add(time.Minute).Unix()}),
		"to refresh":     signed(t, hs, []byte(secret), map[string]any{"type": "refresh"}),
		"for others":     signed(t, hs, []byte(secret), map[string]any{"aud": "other"}),
		"of nobody":      signed(t, hs, []byte(secret), map[string]any{"sub": ""}),
		"a long name":    signed(t, hs, []byte(secret), map[string]any{"sub": strings.Repeat("a", 201)}),
		"another end":    good + "x",
		"no JWT":         "eyJ.eyJ.x",
	} {
		_, err := logins.Verify(text)
		require.Equal(t, task.CodeUnauthorized, task.CodeOf(err), name)
	}
	require.False(t, token.LooksSigned("sk_live_x"))
	require.False(t, token.LooksSigned("v1.k.x"))
}

func TestASecretOfLoginsIsLong(t *testing.T) {
	t.Parallel()
	_, err := token.NewLogins("short")
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	require.ErrorContains(t, err, "5 bytes")
	_, err = token.NewLogins(secret, "short")
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}

// The secret is changed without a moment in which nobody can log in: first both are taken, then
// the new one alone, which ends all that the old one signed.
func TestASecretOfLoginsCanBeChanged(t *testing.T) {
	t.Parallel()
	const next = "the next secret of thirty-two bytes"
	both, err := token.NewLogins(next, secret)
	require.NoError(t, err)
	alone, err := token.NewLogins(next)
	require.NoError(t, err)
	hs := jwt.SigningMethodHS256
	old, now := signed(t, hs, []byte(secret), nil), signed(t, hs, []byte(next), nil)
	for _, text := range []string{old, now} {
		got, err := both.Verify(text)
		require.NoError(t, err)
		require.Equal(t, "ada", got.User)
	}
	_, err = both.Verify(signed(t, hs, []byte(secret), map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}))
	require.ErrorContains(t, err, "has expired", "by whichever it is signed")
	_, err = both.Verify(signed(t, hs, []byte("a third secret of thirty-two bytes!"), nil))
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(err))
	_, err = alone.Verify(old)
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(err))
	_, err = alone.Verify(now)
	require.NoError(t, err)
}
