package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/redact"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	secrets := []string{"hunter2-hunter2", "abc"}
	for name, c := range map[string]struct{ in, want string }{
		"plain":          {"load run 7: not found", "load run 7: not found"},
		"given value":    {"key hunter2-hunter2 refused", "key [removed] refused"},
		"too short":      {"abc of it", "abc of it"},
		"sandbox token":  {"got v1.k1.QUJDREVGR0hJSktMTU5PUA in path", "got [removed] in path"},
		"token in path":  {"GET /t/v1.k1.QUJDREVGR0hJSktMTU5PUA/api", "GET /t/[removed]/api"},
		"a version":      {"needs v1.2.3 of it", "needs v1.2.3 of it"},
		"model key":      {"sk-ant-REDACTED failed", "[removed] failed"},
		"git token":      {"ghp_0123456789abcdef and github_pat_0123456789abcdef", "[removed] and [removed]"},
		"our key":        {"omoi_0123456789abcdef0123", "[removed]"},
		"an API key":     {"with sk_live_0123456789-abcdef_0123", "with [removed]"},
		"a word of ours": {"omoi_tasks is a table", "omoi_tasks is a table"},
		"bearer":         {"Authorization: Bearer abc.def-1", "Authorization: [removed] [removed]"},
		"bearer alone":   {"sent bearer abcdef", "sent bearer [removed]"},
		"basic":          {"authorization: basic dXNlcjpwdw==", "authorization: basic [removed]"},
		"json web token": {"eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln is old", "[removed] is old"},
		"url userinfo":   {"clone https://x-access-token:pw@github.com/a/b", "clone https://[removed]github.com/a/b"},
		"database url":   {"postgres://omoi:pw@db/omoi?sslmode=off", "postgres://[removed]db/omoi?sslmode=off"},
		"url with at":    {"see http://host/a@b", "see http://host/a@b"},
		"password":       {`{"password": "p4ss", "user": "x"}`, `{"password": "[removed]", "user": "x"}`},
		"access token":   {"GET /x?access_token=abc&y=1", "GET /x?access_token=[removed]&y=1"},
		"query":          {"GET /x?token=abc&y=1", "GET /x?token=[removed]&y=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, redact.Scrub(c.in, secrets))
		})
	}
}
