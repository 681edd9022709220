package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/credential"
)

const credentials = "/api/v1/credentials"

// keeper returns the credential service, with an encryption key of its own.
func (w *world) keeper() api.Credentials {
	w.t.Helper()
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(w.t, err)
	return credential.New(credential.Config{
		Organization: w.org, Installation: map[string]credential.Value{"github": {Secret: "ghp_installation"}},
	}, ring, w.store)
}

// keyOf creates an API key of a user.
func (w *world) keyOf(org, user, scope string) string {
	w.t.Helper()
	_, secret, err := w.store.CreateKey(w.t.Context(), org,
		client.CreateAPIKeyRequest{User: user, Name: "of " + user, Scopes: []string{scope}})
	require.NoError(w.t, err)
	return "Bearer " + secret
}

func TestCredentials_UsersChangeTheirOwn(t *testing.T) {
	t.Parallel()
	w := closed(t)
	alice, bob, reader := w.keyOf(w.org, "alice", "write"), w.keyOf(w.org, "bob", "write"), w.keyOf(w.org, "alice", "read")
	set := func(key, kind string, body any) answer {
		return w.call(http.MethodPut, credentials+"/"+kind, body, authorization, key)
	}
	const secret = "sk-ant-api03-0123456789abcdefWXYZ"
	got := set(alice, "anthropic", client.SetCredentialRequest{
		Secret: secret, BaseURL: "https://host", Models: credential.Models{Model: "m"},
	})
	made := ok[client.Credential](got, http.StatusOK)
	require.Equal(t, "********WXYZ", made.Masked)
	require.NotContains(t, string(got.body), secret)
	kinds := func(key string) (all []string) {
		listed := w.call(http.MethodGet, credentials, nil, authorization, key)
		require.NotContains(t, string(listed.body), secret)
		for _, c := range ok[client.Page[client.Credential]](listed, http.StatusOK).Items {
			all = append(all, c.Scope+" "+c.Kind)
		}
		return all
	}
	require.Equal(t, []string{"user anthropic", "installation github"}, kinds(alice))
	require.Equal(t, []string{"user anthropic", "installation github"}, kinds(reader), "another key of hers")
	require.Equal(t, []string{"installation github"}, kinds(bob))
	require.Zero(t, w.count(`SELECT count(*) FROM credentials c WHERE c::text LIKE '%0123456789abcdef%' OR encode(sealed, 'escape') LIKE '%0123456789%'`))

	set(reader, "anthropic", client.SetCredentialRequest{Secret: secret}).refused(http.StatusForbidden, "")
	set(alice, "anthropic", client.SetCredentialRequest{Secret: "short"}).refused(422, "body.secret")
	set(alice, "no kind", client.SetCredentialRequest{Secret: secret}).refused(422, "body.kind")
	w.call(http.MethodDelete, credentials+"/anthropic", nil, authorization, bob).refused(http.StatusNotFound, "")
	require.Equal(t, http.StatusNoContent,
		w.call(http.MethodDelete, credentials+"/anthropic", nil, authorization, alice).status)
	require.Equal(t, []string{"installation github"}, kinds(alice))
}

func TestCredentials_HaveNumbers(t *testing.T) {
	t.Parallel()
	w := closed(t)
	alice := w.keyOf(w.org, "alice", "write")
	call := func(method, path string, body any) answer {
		return w.call(method, credentials+path, body, authorization, alice)
	}
	for _, number := range []int{1, 2, 9} {
		in := client.SetCredentialRequest{Secret: "openai-of-alice-0", Number: number}
		require.Equal(t, number, ok[client.Credential](call(http.MethodPut, "/openai", in), http.StatusOK).Number)
	}
	for _, number := range []string{"0", "10", "-1", "1.5", `"2"`} {
		call(http.MethodPut, "/openai", `{"secret":"openai-of-alice-0","number":`+number+`}`).refused(422, "body.number")
		call(http.MethodPost, "/openai/test", `{"number":`+number+`}`).refused(422, "body.number")
		call(http.MethodDelete, "/openai?number="+url.QueryEscape(number), nil).refused(422, "query.number")
	}
	call(http.MethodPut, "/openai%232", client.SetCredentialRequest{Secret: "openai-of-alice-0"}).refused(422, "body.kind")
	call(http.MethodPut, "/github", client.SetCredentialRequest{Secret: "ghp_of_alice", Number: 2}).refused(422, "body.number")
	call(http.MethodPost, "/github/test", client.TestCredentialRequest{Number: 2}).refused(422, "body.number")
	call(http.MethodPut, "/claude_oauth", client.SetCredentialRequest{Secret: "sk-ant-oat01-of-alice", Number: 2}).refused(http.StatusForbidden, "")
	call(http.MethodPost, "/openai/test", client.TestCredentialRequest{Number: 3}).refused(http.StatusNotFound, "")
	call(http.MethodDelete, "/openai?number=3", nil).refused(http.StatusNotFound, "")
	require.Equal(t, http.StatusNoContent, call(http.MethodDelete, "/openai?number=2", nil).status)
	numbers := []int{}
	for _, c := range ok[client.Page[client.Credential]](call(http.MethodGet, "", nil), http.StatusOK).Items {
		if c.Kind == "openai" {
			numbers = append(numbers, c.Number)
		}
	}
	require.Equal(t, []int{1, 9}, numbers)
}

func TestCredentials_OfOthersRequireAdmin(t *testing.T) {
	t.Parallel()
	w := closed(t)
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	alice, admin, stranger := w.keyOf(w.org, "alice", "write"), w.keyOf(w.org, "boss", "admin"), w.keyOf(other, "carol", "admin")
	project := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, alice),
		http.StatusCreated).ProjectID
	ofAll := client.SetCredentialRequest{Secret: "openai-of-all-000", Scope: "organization"}
	ofProject := client.SetCredentialRequest{Secret: "openai-of-project", Scope: "project", ProjectID: project}
	for _, in := range []client.SetCredentialRequest{ofAll, ofProject} {
		w.call(http.MethodPut, credentials+"/openai", in, authorization, alice).refused(http.StatusForbidden, "")
		ok[client.Credential](w.call(http.MethodPut, credentials+"/openai", in, authorization, admin), http.StatusOK)
	}
	w.call(http.MethodPut, credentials+"/openai", ofProject, authorization, stranger).refused(http.StatusNotFound, "")
	require.Empty(t, ok[client.Page[client.Credential]](w.call(http.MethodGet, credentials, nil, authorization, stranger),
		http.StatusOK).Items)
	require.Len(t, ok[client.Page[client.Credential]](w.call(http.MethodGet, credentials, nil, authorization, alice),
		http.StatusOK).Items, 3)

	tested := ok[credential.Test](w.call(http.MethodPost, credentials+"/openai/test",
		client.TestCredentialRequest{ProjectID: project}, authorization, alice), http.StatusOK)
	require.Equal(t, "project", tested.Scope)
	require.Equal(t, credential.StateUnknown, tested.State)
	w.call(http.MethodPost, credentials+"/mistral/test", `{}`, authorization, alice).refused(http.StatusNotFound, "")
	const rotation = "/api/v1/credentials/rotate"
	w.call(http.MethodPost, rotation, nil, authorization, alice).refused(http.StatusForbidden, "")
	require.Zero(t,
		ok[credential.Rotation](w.call(http.MethodPost, rotation, nil, authorization, admin), http.StatusOK).Rotated)

	w.call(http.MethodDelete, credentials+"/openai?scope=organization", nil, authorization, alice).
		refused(http.StatusForbidden, "")
	require.Equal(t, http.StatusNoContent,
		w.call(http.MethodDelete, credentials+"/openai?scope=organization", nil, authorization, admin).status)
	w.call(http.MethodDelete, credentials+"/openai?scope=project", nil, authorization, admin).
		refused(422, "query.project_id")
}

// A task belongs to the user of its key; without authentication, to the server's user.
func TestTask_HasTheUserOfItsKey(t *testing.T) {
	t.Parallel()
	w := closed(t)
	admin := w.key(w.org, "admin")
	const keys = "/api/v1/auth/api-keys"
	alices := ok[client.CreatedAPIKey](w.call(http.MethodPost, keys, `{"name":"laptop","user":"alice"}`, authorization, admin),
		http.StatusCreated)
	require.Equal(t, "alice", alices.User)
	again := ok[client.CreatedAPIKey](w.call(http.MethodPost, keys, `{"name":"phone","user":"alice"}`, authorization, admin),
		http.StatusCreated)
	require.Equal(t, alices.UserID, again.UserID)
	mine := ok[client.CreatedAPIKey](w.call(http.MethodPost, keys, `{"name":"ci"}`, authorization, admin), http.StatusCreated)
	require.Equal(t, "owner", mine.User, "that of the key that made it")
	wrong := newTask()
	wrong.Execution = json.RawMessage(`{"credentials":["Open AI"],"script":{"steps":[{"say":"x"}]}}`)
	w.call(http.MethodPost, "/api/v1/tasks", wrong, authorization, "Bearer "+alices.Secret).
		refused(422, "body.execution_config.credentials")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, "Bearer "+alices.Secret),
		http.StatusCreated)
	require.Equal(t, alices.UserID, made.UserID)
	w.call(http.MethodPost, keys, map[string]string{"name": "x", "user": "a\nb"}, authorization, admin).
		refused(422, "body.user")

	owner, err := w.store.EnsureOwner(t.Context(), w.org)
	require.NoError(t, err)
	require.Equal(t, mine.UserID, owner)
	open := startOn(t, w.pool, w.bus, func(c *api.Config) { c.Open, c.User = true, owner })
	require.Equal(t, owner,
		ok[client.Task](open.call(http.MethodPost, "/api/v1/tasks", newTask()), http.StatusCreated).UserID)
	ok[client.Credential](open.call(http.MethodPut, credentials+"/github",
		client.SetCredentialRequest{Secret: "ghp_of_the_owner"}), http.StatusOK)
}
