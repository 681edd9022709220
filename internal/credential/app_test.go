package credential_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

// app is a GitHub App whose Probe returns err.
type app struct{ err error }

func (app) Name() string { return "GitHub App 7" }

func (a app) Probe(context.Context) (string, error) { return "GitHub knows it.", a.err }

// Token reports a stored credential as own, and the token of the configuration as not own. scm uses the App in between.
func TestToken_IsOwnIfStored(t *testing.T) {
	t.Parallel()
	b := newBench(t, installation())
	own := func(user, project string) string {
		token, own, ours, err := b.service.Token(t.Context(), user, project)
		require.NoError(t, err)
		require.True(t, ours)
		if !own {
			return ""
		}
		return token
	}
	require.Empty(t, own(alice, shop))
	require.Empty(t, own("", ""))
	b.set(credential.Who{}, credential.GitHub, "ghp_organization")
	require.Equal(t, "ghp_organization", own(alice, shop))
	b.set(credential.Who{UserID: alice}, credential.GitHub, "ghp_of_alice")
	require.Equal(t, "ghp_of_alice", own(alice, shop))
	require.Equal(t, "ghp_organization", own(bob, shop))
}

// The App is listed and tested for the organization of the installation only.
func TestApp_IsListedAndTested(t *testing.T) {
	t.Parallel()
	b := newBench(t, installation())
	b.service.UseApp(app{})
	who, tenant := credential.Who{OrganizationID: org, UserID: alice}, credential.Who{OrganizationID: "tenant", UserID: "carol"}
	all, err := b.service.List(t.Context(), who)
	require.NoError(t, err)
	require.Contains(t, all, credential.Credential{Kind: credential.GitHub, Scope: credential.ScopeApp, Number: 1, State: credential.StateValid, Masked: "GitHub App 7"})
	all, err = b.service.List(t.Context(), tenant)
	require.NoError(t, err)
	require.Empty(t, all)
	for _, c := range []struct {
		err   error
		state string
		says  string
	}{
		{nil, credential.StateValid, "GitHub knows it."},
		{task.Errorf(task.CodeForbidden, "Wrong key. Next: look."), credential.StateRejected, "Wrong key. Next: look."},
		{task.Errorf(task.CodeUnavailable, "No answer."), credential.StateUnreachable, "No answer."},
	} {
		b.service.UseApp(app{c.err})
		got, err := b.service.Test(t.Context(), who, credential.GitHub, 0)
		require.NoError(t, err)
		require.Equal(t, credential.Test{Kind: credential.GitHub, Scope: credential.ScopeApp, Number: 1, State: c.state, Message: c.says}, got)
	}
	_, err = b.service.Test(t.Context(), tenant, credential.GitHub, 0)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "another organization works with neither")
}
