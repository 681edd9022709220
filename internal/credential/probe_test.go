package credential_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

// provider answers as GitHub and Anthropic do.
func provider(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Authorization") {
		case "Bearer ghp_good0000":
			w.Header().Set("X-Oauth-Scopes", "gist, repo")
			w.Header().Set("Github-Authentication-Token-Expiration", "2027-01-02 03:04:05 UTC")
			_, _ = w.Write([]byte(`{"login":"octocat"}`))
		case "Bearer ghp_narrow00":
			w.Header().Set("X-Oauth-Scopes", "public_repo")
			_, _ = w.Write([]byte(`{"login":"octocat"}`))
		case "Bearer ghp_moved000":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		status, known := map[string]int{
			"sk-good0000": 200, "sk-limit000": 429, "sk-nothing0": 403, "sk-down0000": 529,
			"Bearer sk-bearer00": 200, "Bearer sk-ant-oat01-good": 200, "Bearer sk-ant-oat01-narrow": 403,
		}[r.Header.Get("X-Api-Key")+r.Header.Get("Authorization")]
		if !known {
			status = 401
		}
		w.WriteHeader(status)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestATestSaysWhatACredentialIsGoodFor(t *testing.T) {
	t.Parallel()
	base := provider(t)
	for _, c := range []struct {
		kind  string
		value credential.Value
		state string
		says  string
	}{
		{credential.GitHub, credential.Value{Secret: "ghp_good0000"}, credential.StateGood, "GitHub knows it as octocat. It expires on 2027-01-02 03:04:05 UTC."},
		{credential.GitHub, credential.Value{Secret: "ghp_narrow00"}, credential.StateGood, "lacks the scope repo"},
		{credential.GitHub, credential.Value{Secret: "ghp_wrong000"}, credential.StateRefused, "Next: omoi credentials set github"},
		{credential.GitHub, credential.Value{Secret: "ghp_moved000"}, credential.StateUnknown, "answered 302"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000"}, credential.StateGood, "takes it"},
		{credential.Anthropic, credential.Value{Secret: "sk-bearer00", Bearer: true}, credential.StateGood, "takes it"},
		{credential.Anthropic, credential.Value{Secret: "sk-limit000"}, credential.StateGood, "limit is reached"},
		{credential.Anthropic, credential.Value{Secret: "sk-wrong000"}, credential.StateRefused, "Next: omoi credentials set anthropic"},
		{credential.Anthropic, credential.Value{Secret: "sk-nothing0"}, credential.StateRefused, "lets it do nothing"},
		{credential.Anthropic, credential.Value{Secret: "sk-down0000"}, credential.StateUnreachable, "529"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000", BaseURL: base + "/other"}, credential.StateUnknown, "first task"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000", BaseURL: "http://127.0.0.1:1"}, credential.StateUnreachable, "no answer from http://127.0.0.1:1"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000", BaseURL: "http://169.254.169.254"}, credential.StateUnreachable, "no answer"},
		{credential.ClaudeOAuth, credential.Value{Secret: "sk-ant-oat01-good"}, credential.StateGood, "takes it"},
		{credential.ClaudeOAuth, credential.Value{Secret: "sk-ant-oat01-narrow"}, credential.StateUnknown, "first task"},
		{credential.ClaudeOAuth, credential.Value{Secret: "sk-ant-oat01-wrong"}, credential.StateRefused, "claude setup-token"},
		{"openai", credential.Value{Secret: "anything-at-all"}, credential.StateUnknown, "no way to ask openai"},
	} {
		ring, err := credential.ParseRing(credential.NewKey())
		require.NoError(t, err)
		s := credential.New(credential.Config{Organization: org, GitHubURL: base, AnthropicURL: base}, ring, &memory{})
		who := credential.Who{OrganizationID: org, UserID: alice}
		_, err = s.Set(t.Context(), credential.Place{Who: who, Kind: c.kind}, c.value)
		require.NoError(t, err)
		got, err := s.Test(t.Context(), who, c.kind)
		require.NoError(t, err)
		require.Equal(t, c.state, got.State, "%s %s: %s", c.kind, c.value.Secret, got.Says)
		require.Contains(t, got.Says, c.says)
		require.NotContains(t, got.Says, c.value.Secret)
	}
	b := newBench(t, nil)
	_, err := b.service.Test(t.Context(), credential.Who{OrganizationID: org}, credential.Model)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}
