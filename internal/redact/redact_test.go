package redact_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/redact"
)

const token = "v1.pfqqh2km.sMf_trL-0123456789abcdefghijklmnopqrstuvwxyz"

func TestNamesOfSecrets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"API_KEY", "STRIPE_KEY", "GITHUB_TOKEN", "githubToken", "GITHUBTOKEN", "MY_SECRET", "SECRET_KEY_BASE", "DB_PASSWORD", "PGPASSWORD",
		"DB_PWD", "GOOGLE_CREDENTIALS", "NPM_AUTH", "AWS_ACCESS_KEY_ID", "OPENAI_APIKEY", "SESSION_COOKIE", "ssh.private",
	} {
		require.True(t, redact.SecretName(name), name)
	}
	for _, name := range []string{
		"", "PATH", "PWD", "MODE", "KEYBOARD", "MONKEY", "TOKENIZER", "AUTHOR", "COMPASS", "PASSED", "SSH_KEY_PATH", "TOKEN_URL", "SECRET_NAME",
	} {
		require.False(t, redact.SecretName(name), name)
	}
}

func TestOnlySecretsAreHidden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, text, want string }{
		{"MY_SECRET", "hunter2hunter2", "got hunter2hunter2.", "got [redacted]."},
		{"MODE", "production", "in production", "in production"},
		{"USE_TOKEN", "true", "it is true", "it is true"},
		{"MAX_TOKENS", "100000000", "of 100000000", "of 100000000"},
		{"DB_PASSWORD", "20240131", "is 20240131", "is [redacted]"},
		{"PRIVATE_KEY", "/usr/bin/env-0_1.pem", "at /usr/bin/env-0_1.pem", "at /usr/bin/env-0_1.pem"},
		{"AWS_SECRET_ACCESS_KEY", "/ab/cdEFgh+1234567890", "is /ab/cdEFgh+1234567890", "is [redacted]"},
		{"ANYTHING", "ghp_0123456789abcdef", "ghp_0123456789abcdef", "[redacted]"},
		{"ANYTHING", "sk_live_0123456789abcdef", "sk_live_0123456789abcdef", "[redacted]"},
		{"DATABASE_URL", "postgres://me:long-enough@db/x", "postgres://me:long-enough@db/x", "postgres://me:[redacted]@db/x"},
		{"DATABASE_URL", "postgres://me:long%40enough@db/x", "password long@enough", "password [redacted]"},
		{"DATABASE_URL", "postgres://me:pw@db/x", "postgres://me:pw@db/x, pw", "[redacted]db/x, pw"},
		{"DATABASE_URL", "postgres://me@db/x", "postgres://me@db/x", "postgres://me@db/x"},
		{"REMOTE", "https://0123456789abcdef@git.example/x", "https://0123456789abcdef@git.example/x", "https://[redacted]@git.example/x"},
	} {
		require.Equal(t, c.want, redact.New(token, map[string]string{c.name: c.value}).Text(c.text), c)
	}
}

func TestTokensAreHiddenInEveryForm(t *testing.T) {
	t.Parallel()
	h := redact.New(token, nil)
	for text, want := range map[string]string{
		`CALLBACK_URL=http://h:1/t/` + token + "/mcp":   "CALLBACK_URL=http://h:1/t/[redacted]/mcp",
		`{"token":"` + token + `"}`:                     `{"token":"[redacted]"}`,
		"from the middle qh2km." + token[12:]:           "from the middle qh2km.[redacted]",
		token[9:] + " begins cut":                       "km.[redacted] begins cut",
		"ends cut " + token[:20]:                        "ends cut [redacted]",
		token[30:] + " and " + token + " " + token[:15]: "[redacted] and [redacted] [redacted]",
		"v1.2.3 of v1.pfqq":                             "v1.2.3 of v1.pfqq",
	} {
		require.Equal(t, want, h.Text(text), text)
	}
}

func TestSecretsOfSeveralLinesAndSignsAreHidden(t *testing.T) {
	t.Parallel()
	const odd = "a<b>&\"c\\d é f"
	h := redact.New(token, map[string]string{"ODD_KEY": odd, "PEM_KEY": "-----BEGIN X-----\nMIIEvQIBADANBgkqhki\n-----END X-----\n"})
	inJSON, err := json.Marshal(odd)
	require.NoError(t, err)
	twice, err := json.Marshal(string(inJSON))
	require.NoError(t, err)
	for _, text := range []string{odd, string(inJSON), string(twice), `"a<b>&\"c\\d é f"`, url.QueryEscape(odd), "http://h/" + url.PathEscape(odd)} {
		got := h.Text(text)
		require.Contains(t, got, redact.Hidden, text)
		require.NotContains(t, got, "é", text)
	}
	require.Equal(t, "+[redacted]\n+[redacted]\n", h.Text("+-----BEGIN X-----\n+MIIEvQIBADANBgkqhki\n"))
}

func TestAllStringsOfDataAreHidden(t *testing.T) {
	t.Parallel()
	now := time.Now()
	data := map[string]any{
		"text": "x " + token, "n": 3, "big": int64(1) << 60, "at": now, "none": nil, token: 1, "no": []string(nil),
		"list": []any{token, map[string]any{"deep": token}, true}, "chunks": []string{"x " + token[:20], token[20:]},
		"kind": struct{ Text string }{token}, "raw": json.RawMessage(`{"a": ["` + token + `", 12345678901234567890]}`),
	}
	got := redact.New(token, nil).Map(data)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(text), "sMf_trL")
	require.NotContains(t, string(text), "qrstuvwxyz")
	require.Contains(t, string(text), "12345678901234567890")
	require.Equal(t, []any{3, int64(1) << 60, now, nil}, []any{got["n"], got["big"], got["at"], got["none"]})
	require.Contains(t, data, token, "what was given stays as it is")
	require.Equal(t, data, (*redact.Hider)(nil).Map(data))
}

// Wherever a text is cut, no more than a few characters of a secret are left.
func TestNothingOfASecretIsLeftByACut(t *testing.T) {
	t.Parallel()
	h := redact.New(token, nil)
	mac := token[strings.LastIndex(token, ".")+1:]
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "before"), rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "after")
		cut := rapid.IntRange(0, len(token)).Draw(t, "cut")
		for _, text := range []string{before + token + after, before + token[:cut], token[cut:] + after} {
			got := h.Text(text)
			for at := 0; at+8 <= len(mac); at++ {
				if strings.Contains(got, mac[at:at+8]) {
					t.Fatalf("%q shows %q", got, mac[at:at+8])
				}
			}
		}
	})
}

func TestExecutionConfigsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"env": {"API_KEY": "long-enough-1", "PIN_KEY": "1234", "MODE": "fast"}, "setup": "login long-enough-1", "n": 12345678901234567890}`: `{"env": {"API_KEY": "[redacted]", "PIN_KEY": "[redacted]", "MODE": "[redacted]"}, "setup": "login [redacted]", "n": 12345678901234567890}`,
		`{"command": ["true"]}`: `{"command": ["true"]}`,
		`{"env": 3}`:            `{"env": 3}`,
		`{"env": {}}`:           `{"env": {}}`,
	} {
		require.JSONEq(t, want, string(redact.Execution(json.RawMessage(given))))
	}
	require.Empty(t, redact.Execution(nil))
}
