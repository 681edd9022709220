package credential_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

// provider starts a server that answers as GitHub and Anthropic do, and returns its URL.
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

func TestCredentialTest_States(t *testing.T) {
	t.Parallel()
	base := provider(t)
	for _, c := range []struct {
		kind  string
		value credential.Value
		state string
		says  string
	}{
		{credential.GitHub, credential.Value{Secret: "ghp_good0000"}, credential.StateValid, "GitHub accepted the token of octocat. The token expires on 2027-01-02 03:04:05 UTC."},
		{credential.GitHub, credential.Value{Secret: "ghp_narrow00"}, credential.StateValid, "lacks the scope repo"},
		{credential.GitHub, credential.Value{Secret: "ghp_wrong000"}, credential.StateRejected, "Next: omoi credentials set github"},
		{credential.GitHub, credential.Value{Secret: "ghp_moved000"}, credential.StateUnknown, "answered 302"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000"}, credential.StateValid, " accepted the "},
		{credential.Anthropic, credential.Value{Secret: "sk-bearer00", Bearer: true}, credential.StateValid, " accepted the "},
		{credential.Anthropic, credential.Value{Secret: "sk-limit000"}, credential.StateUnknown, "was not tested"},
		{credential.Anthropic, credential.Value{Secret: "sk-wrong000"}, credential.StateRejected, "Next: omoi credentials set anthropic"},
		{credential.Anthropic, credential.Value{Secret: "sk-nothing0"}, credential.StateRejected, "lacks permission"},
		{credential.Anthropic, credential.Value{Secret: "sk-down0000"}, credential.StateUnreachable, "529"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000", BaseURL: base + "/other"}, credential.StateUnknown, "first task"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000", BaseURL: "http://127.0.0.1:1"}, credential.StateUnknown, "http://127.0.0.1:1 is in the server's own network"},
		{credential.Anthropic, credential.Value{Secret: "sk-good0000", BaseURL: "http://169.254.169.254"}, credential.StateUnknown, "not tested by default"},
		{credential.ClaudeOAuth, credential.Value{Secret: "sk-ant-oat01-good"}, credential.StateValid, " accepted the "},
		{credential.ClaudeOAuth, credential.Value{Secret: "sk-ant-oat01-narrow"}, credential.StateUnknown, "first task"},
		{credential.ClaudeOAuth, credential.Value{Secret: "sk-ant-oat01-wrong"}, credential.StateRejected, "claude setup-token"},
		{"openai", credential.Value{Secret: "anything-at-all"}, credential.StateUnknown, "no test for the provider openai"},
	} {
		ring, err := credential.ParseRing(credential.NewKey())
		require.NoError(t, err)
		s := credential.New(credential.Config{Organization: org, GitHubURL: base, AnthropicURL: base}, ring, &memory{})
		who := credential.Who{OrganizationID: org, UserID: alice}
		_, err = s.Set(t.Context(), credential.Place{Who: who, Kind: c.kind}, c.value)
		require.NoError(t, err)
		got, err := s.Test(t.Context(), who, c.kind, 0)
		require.NoError(t, err)
		require.Equal(t, c.state, got.State, "%s %s: %s", c.kind, c.value.Secret, got.Message)
		require.Contains(t, got.Message, c.says)
		require.NotContains(t, got.Message, c.value.Secret)
	}
	b := newBench(t, nil)
	_, err := b.service.Test(t.Context(), credential.Who{OrganizationID: org}, credential.Model, 0)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

// Users choose base URLs: by default, a test does not reveal which servers exist in the server's network.
func TestCredentialTest_CallsPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	base := provider(t)
	u, err := url.Parse(base)
	require.NoError(t, err)
	test := func(cfg credential.Config, base string) credential.Test {
		ring, err := credential.ParseRing(credential.NewKey())
		require.NoError(t, err)
		cfg.Organization = org
		s, who := credential.New(cfg, ring, &memory{}), credential.Who{OrganizationID: org, UserID: alice}
		_, err = s.Set(t.Context(), credential.Place{Who: who, Kind: credential.Anthropic}, credential.Value{Secret: "sk-good0000", BaseURL: base})
		require.NoError(t, err)
		got, err := s.Test(t.Context(), who, credential.Anthropic, 0)
		require.NoError(t, err)
		return got
	}
	for _, private := range []string{
		base, "http://localhost:" + u.Port(), "http://[::1]:" + u.Port(), "http://[::ffff:127.0.0.1]:" + u.Port(), "http://0.0.0.0:" + u.Port(),
		"http://10.0.0.1", "http://172.16.0.1", "http://192.168.0.1", "http://100.64.0.1", "http://[fd00::1]", "http://[64:ff9b::7f00:1]",
		"http://169.254.169.254", "http://[fe80::1]", "http://224.0.0.1",
	} {
		got := test(credential.Config{}, private)
		require.Equal(t, credential.StateUnknown, got.State, private)
		require.Contains(t, got.Message, "OMOI_CREDENTIAL_TEST_ALLOW_PRIVATE", private)
	}
	installed := map[string]credential.Value{credential.Anthropic: {BaseURL: base}}
	require.Equal(t, credential.StateValid, test(credential.Config{Installation: installed}, base).State, "the installation's own")
	require.Equal(t, credential.StateUnknown, test(credential.Config{Installation: installed}, "http://127.0.0.1:1").State, "another port of it")
	require.Equal(t, credential.StateValid, test(credential.Config{TestPrivate: true}, base).State)
	require.Equal(t, credential.StateUnreachable, test(credential.Config{TestPrivate: true}, "http://127.0.0.1:1").State)
	require.Equal(t, credential.StateUnknown, test(credential.Config{TestPrivate: true}, "http://169.254.169.254").State, "whatever is allowed")
}

// A base URL of the configuration may contain a password, which is never shown.
func TestCredentialTest_HidesThePasswordOfAURL(t *testing.T) {
	t.Parallel()
	base := strings.Replace(provider(t), "http://", "http://me:plantedPassword@", 1)
	b := newBench(t, map[string]credential.Value{credential.Anthropic: {Secret: "sk-limit000", BaseURL: base}})
	who := credential.Who{OrganizationID: org}
	all, err := b.service.List(t.Context(), who)
	require.NoError(t, err)
	require.Contains(t, all[0].BaseURL, "http://me:xxxxx@127.0.0.1")
	got, err := b.service.Test(t.Context(), who, credential.Anthropic, 0)
	require.NoError(t, err)
	require.Contains(t, got.Message, "http://me:xxxxx@127.0.0.1")
	found, err := b.service.Find(t.Context(), who, credential.Anthropic, 0)
	require.NoError(t, err)
	require.Equal(t, base, found.BaseURL, "the agent needs it whole")
}

// A credential that the provider accepts ends its cooldown; any other answer leaves the cooldown.
func TestCredentialTest_EndsTheCooldownOfValidCredentials(t *testing.T) {
	t.Parallel()
	base := provider(t)
	for secret, want := range map[string][]string{"sk-good0000": {credential.Anthropic}, "sk-limit000": nil, "sk-unknown0": nil} {
		ring, err := credential.ParseRing(credential.NewKey())
		require.NoError(t, err)
		store := &memory{}
		s := credential.New(credential.Config{Organization: org, TestPrivate: true}, ring, store)
		who := credential.Who{OrganizationID: org, UserID: alice}
		_, err = s.Set(t.Context(), credential.Place{Who: who, Kind: credential.Anthropic}, credential.Value{Secret: secret, BaseURL: base})
		require.NoError(t, err)
		_, err = s.Test(t.Context(), who, credential.Anthropic, 0)
		require.NoError(t, err)
		require.Equal(t, want, store.good, secret)
	}
}
