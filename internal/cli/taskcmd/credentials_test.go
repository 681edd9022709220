package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/credential"
)

func (f *fakeAPI) serveCredentials(mux *http.ServeMux) {
	const all = "/api/v1/credentials"
	mux.HandleFunc("GET "+all, func(w http.ResponseWriter, _ *http.Request) {
		f.locked(func() { answer(w, http.StatusOK, client.Page[client.Credential]{Items: f.credentials}) })
	})
	mux.HandleFunc("PUT "+all+"/{kind}", func(w http.ResponseWriter, r *http.Request) {
		var in client.SetCredentialRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.locked(func() { f.given = map[string]client.SetCredentialRequest{r.PathValue("kind"): in} })
		answer(w, http.StatusOK, client.Credential{Kind: r.PathValue("kind"), Scope: "user", Masked: "********WXYZ"})
	})
	mux.HandleFunc("DELETE "+all+"/{kind}", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { f.asked = append(f.asked, "remove "+r.PathValue("kind")+" "+r.URL.RawQuery) })
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST "+all+"/{kind}/test", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { answer(w, http.StatusOK, f.trials[r.PathValue("kind")]) })
	})
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Project]{Items: []client.Project{{ID: idA, Name: "app"}, {ID: idM, Name: "other"}}})
	})
	mux.HandleFunc("POST /api/v1/credentials/rotate", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, credential.Rotation{KeyID: "k2", Rotated: 3, Undecryptable: 1, MissingKeyIDs: []string{"k0"}})
	})
}

func TestCredentialsSet_ReadsAPipedSecret(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.with(call{stdin: "  ghp_0123456789\n"}, "credentials", "set", "github")
	require.Zero(t, got.code, got.err)
	require.Equal(t, client.SetCredentialRequest{Secret: "ghp_0123456789"}, f.given["github"])
	require.Equal(t, "github  yours  ********WXYZ\nNext: omoi credentials test github\n", got.out)
	got = f.with(call{stdin: "sk-0123456789"}, "credentials", "set", "anthropic", "--organization", "--base-url", "https://host", "--model", "m", "--bearer")
	require.Zero(t, got.code, got.err)
	require.Equal(t, client.SetCredentialRequest{
		Secret: "sk-0123456789", Scope: "organization", BaseURL: "https://host", Bearer: true, Models: credential.Models{Model: "m"},
	}, f.given["anthropic"])

	f.given = nil
	for _, args := range [][]string{{"github", "ghp_0123456789"}, {}, {"no kind"}, {"github", "--project", "a", "--organization"}} {
		got = f.with(call{stdin: "x"}, append([]string{"credentials", "set"}, args...)...)
		require.Equal(t, exit.Usage, got.code, args)
		require.NotContains(t, got.err, "ghp_0123456789")
	}
	got = f.with(call{stdin: "\n"}, "credentials", "set", "github")
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.err, "The value is empty")
	require.Empty(t, f.given)
}

func TestCredentialsList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	require.Contains(t, f.omoi("credentials", "list").out, "omoi credentials set")
	at := time.Now().Add(-time.Hour)
	f.credentials = []client.Credential{
		{Kind: "anthropic", Scope: "user", Masked: "********WXYZ", State: credential.StateValid, UpdatedAt: &at, Models: credential.Models{Model: "m"}},
		{Kind: "openai", Scope: "project", ProjectID: idA, State: credential.StateUndecryptable, KeyID: "k0", UpdatedAt: &at},
		{Kind: "mistral", Scope: "user", Number: 2, Masked: "********", State: credential.StateValid, UpdatedAt: &at, ResetsAt: &at},
		{Kind: "github", Scope: "installation", Masked: "********", State: credential.StateValid},
	}
	out := f.omoi("credentials", "list").out
	require.Regexp(t, `anthropic +1 +yours +\*{8}WXYZ +m +stored`, out)
	require.Regexp(t, `openai +1 +project 456789ab +undecryptable: no key k0`, out)
	require.Regexp(t, `mistral +2 +yours +\*{8} +rate limited until 20`, out)
	require.Regexp(t, `github +1 +the server's +\*{8} +stored +configured`, out)
}

func TestCredentialsTest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.credentials = []client.Credential{{Kind: "github", Scope: "user"}, {Kind: "github", Scope: "installation"}, {Kind: "anthropic", Scope: "organization"}}
	f.trials = map[string]credential.Test{
		"github":    {Kind: "github", Scope: "user", State: credential.StateValid, Message: "GitHub accepted the token of octocat."},
		"anthropic": {Kind: "anthropic", Scope: "organization", State: credential.StateRejected, Message: "It is wrong."},
		"openai":    {Kind: "openai", Scope: "user", State: credential.StateUnreachable, Message: "No answer."},
	}
	got := f.omoi("credentials", "test")
	require.Equal(t, exit.NeedsYou, got.code)
	require.Equal(t, "github  yours  valid: GitHub accepted the token of octocat.\nanthropic  the organization's  rejected: It is wrong.\n", got.out)
	require.Zero(t, f.omoi("credentials", "test", "github").code)
	require.Equal(t, exit.Unreachable, f.omoi("credentials", "test", "openai").code)
	f.credentials = []client.Credential{{Kind: "openai", Scope: "project", ProjectID: idA}}
	require.Contains(t, f.omoi("credentials", "test").out, "No credentials")
	require.Contains(t, f.omoi("credentials", "test", "--project", "other").out, "No credentials")
	require.Contains(t, f.omoi("credentials", "test", "--project", "app").out, "openai  yours  unreachable")
}

func TestCredentials_NumbersBeginAtOne(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, verb := range []string{"set", "rm", "test"} {
		got := f.omoi("credentials", verb, "openai", "--number", "0")
		require.Equal(t, 2, got.code, verb)
		require.Contains(t, got.err, `"0" of --number: must be 1 to 9`)
	}
	require.Empty(t, f.asked)
}

func TestCredentials_RemoveAndRotate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	require.Zero(t, f.omoi("credentials", "rm", "github").code)
	require.Zero(t, f.omoi("credentials", "rm", "github", "--organization").code)
	require.Contains(t, f.omoi("credentials", "rm", "openai", "--number", "2").out, "Deleted credential openai 2.")
	f.omoi("credentials", "rm", "openai", "--number", "-1") // the server refuses it
	require.Equal(t, []string{"remove github ", "remove github scope=organization", "remove openai number=2", "remove openai number=-1"}, f.asked)
	got := f.omoi("credentials", "rotate")
	require.Equal(t, exit.NeedsYou, got.code)
	require.Contains(t, got.out, "Re-encrypted 3 credentials with key k2")
	require.Contains(t, got.err, "k0")
}
