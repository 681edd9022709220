package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

const (
	appID     = 4711
	tokenCall = "POST app/installations"
)

var (
	appKey   = sync.OnceValue(makeKey)
	otherKey = sync.OnceValue(makeKey)
)

func makeKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

func pemOf(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// people holds the tokens of users; the server's token has the key "".
type people struct {
	users

	others bool // the App does not serve their organization
}

func (p people) Token(ctx context.Context, userID, projectID string) (token string, own, ours bool, err error) {
	own = p.users[userID] != ""
	if !own && !p.others {
		userID = ""
	}
	token, _, _, err = p.users.Token(ctx, userID, projectID)
	return token, own, !p.others, err
}

// withApp returns a bench whose host uses an App for a user without a token.
func withApp(t *testing.T, key *rsa.PrivateKey, owners people) *bench {
	t.Helper()
	b := setup(t)
	b.server.AddApp(appID, &appKey().PublicKey, 0)
	b.host = b.appHost(appID, key, owners)
	return b
}

func (b *bench) appHost(id int64, key *rsa.PrivateKey, owners people) *github.Host {
	b.t.Helper()
	app, err := github.NewApp(github.AppConfig{ID: id, Key: pemOf(key), URL: b.server.URL})
	require.NoError(b.t, err)
	hub, err := github.New(github.Config{URL: b.server.URL, Scratch: tempdir.Open(b.temp), App: app}, owners)
	require.NoError(b.t, err)
	return hub.As(scm.Owner{UserID: who})
}

func (b *bench) tokensAsked() int {
	n := 0
	for _, call := range b.server.Calls() {
		if strings.HasPrefix(call, tokenCall) {
			n++
		}
	}
	return n
}

// TestApp_WithoutUserToken runs API and git calls with one installation token.
func TestApp_WithoutUserToken(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	b.server.Revoke(token)
	b.server.Install(appID, nil, string(repo))
	branch, head := b.work("t1")
	require.Equal(t, head, b.head("refs/heads/"+branch.Name))
	b.pull(branch.Name, "text")
	require.Len(t, b.server.Pulls(string(repo)), 1)
	require.Equal(t, 1, b.tokensAsked(), "one token is enough")
	b.leavesNothing()
}

// TestApp_OrderOfTokens checks the order: the user's token, the App's, the server's.
func TestApp_OrderOfTokens(t *testing.T) {
	t.Parallel()
	const server = "ghp_theTokenOfTheServer0123456789"
	for name, c := range map[string]struct {
		owners    people
		installed bool
		app       bool   // the App's token is requested
		says      string // empty: the check succeeds
	}{
		"own token":                      {owners: people{users: users{who: token, "": server}}, installed: true},
		"no own token":                   {owners: people{users: users{"": server}}, installed: true, app: true},
		"not installed, server's token":  {owners: people{users: users{"": server}}},
		"not installed, nothing else":    {says: "is not installed on acme/app. Next: install the App there at"},
		"of another organization":        {owners: people{others: true}, installed: true, says: "no token"},
		"of another, with its own token": {owners: people{users: users{who: token}, others: true}, installed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := withApp(t, appKey(), c.owners)
			b.server.Grant(server, string(repo), "push")
			if c.installed {
				b.server.Install(appID, nil, string(repo))
			}
			err := b.host.Check(t.Context(), repo)
			if c.says == "" {
				require.NoError(t, err)
			} else {
				requireCode(t, task.CodeForbidden, err)
				require.Contains(t, task.MessageOf(err), c.says)
			}
			require.Equal(t, c.app, b.tokensAsked() > 0)
		})
	}
}

// TestApp_FaultIsReported checks that a faulty App is an error with the next step, even if another token exists.
func TestApp_FaultIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id   int64
		key  func() *rsa.PrivateKey
		may  map[string]string
		do   func(*githubtest.Server, int64)
		says string
	}{
		"wrong key":     {id: appID, key: otherKey, says: "does not know the GitHub App 4711 with this private key"},
		"unknown id":    {id: 1, key: appKey, says: "does not know the GitHub App 1 with this private key"},
		"suspended":     {id: appID, key: appKey, do: func(s *githubtest.Server, id int64) { s.Suspend(id, true) }, says: "acme has suspended the GitHub App. Next: unsuspend it at "},
		"may read only": {id: appID, key: appKey, may: map[string]string{"contents": "read", "pull_requests": "write"}, says: "it lacks the permission Contents. Next: give it read and write access to Contents"},
		"may do nothing": {
			id: appID, key: appKey, may: map[string]string{"metadata": "read"}, says: "it lacks the permission Contents and Pull requests",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := withApp(t, appKey(), people{})
			in := b.server.Install(appID, c.may, string(repo))
			if c.do != nil {
				c.do(b.server, in)
			}
			err := b.appHost(c.id, c.key(), people{users: users{"": token}}).Check(t.Context(), repo)
			requireCode(t, task.CodeForbidden, err)
			require.Contains(t, task.MessageOf(err), c.says)
			require.Contains(t, task.MessageOf(err), "Next: ")
			require.NotContains(t, err.Error(), "BEGIN RSA")
		})
	}
}

// TestApp_RenewsTokenBeforeExpiry gives out tokens that expire within ten minutes, which are never reused.
func TestApp_RenewsTokenBeforeExpiry(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	b.server.Install(appID, nil, string(repo))
	for range 3 {
		require.NoError(t, b.host.Check(t.Context(), repo))
	}
	require.Equal(t, 1, b.tokensAsked())
	b.server.AddApp(appID, &appKey().PublicKey, 9*time.Minute)
	b.host = b.appHost(appID, appKey(), people{})
	for range 3 {
		require.NoError(t, b.host.Check(t.Context(), repo))
	}
	require.Equal(t, 4, b.tokensAsked())
	require.Len(t, slices.Compact(b.server.AppTokens()), 4)
}

// TestApp_ForgetsRefusedToken suspends and unsuspends the App, which revokes its tokens: one call fails, the next one
// succeeds.
func TestApp_ForgetsRefusedToken(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	in := b.server.Install(appID, nil, string(repo))
	require.NoError(t, b.host.Check(t.Context(), repo))
	b.server.Suspend(in, true)
	requireCode(t, task.CodeForbidden, b.host.Check(t.Context(), repo))
	err := b.host.Check(t.Context(), repo)
	require.Contains(t, task.MessageOf(err), "has suspended the GitHub App")
	b.server.Suspend(in, false)
	require.NoError(t, b.host.Check(t.Context(), repo))
}

// TestApp_TokenCallFails checks that a failure of GitHub is temporary.
func TestApp_TokenCallFails(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	b.server.Install(appID, nil, string(repo))
	for _, c := range []struct {
		fault githubtest.Fault
		code  task.Code
	}{
		{githubtest.Fault{Call: tokenCall, Lose: true}, task.CodeUnavailable},
		{githubtest.Fault{Call: tokenCall, Status: 502, Message: "Bad gateway"}, task.CodeUnavailable},
		{githubtest.Fault{Call: tokenCall, Status: 403, Message: "slow down", Secondary: true, RetryAfter: 7}, task.CodeExhausted},
		{githubtest.Fault{Call: "GET installation", Status: 502, Message: "Bad gateway"}, task.CodeUnavailable},
	} {
		b.server.Break(c.fault)
		requireCode(t, c.code, b.host.Check(t.Context(), repo))
	}
	require.NoError(t, b.host.Check(t.Context(), repo))
}

// TestApp_Uninstalled checks that the call after the refused token reports the missing installation.
func TestApp_Uninstalled(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	in := b.server.Install(appID, nil, string(repo))
	require.NoError(t, b.host.Check(t.Context(), repo))
	b.server.Suspend(in, false) // revokes its tokens
	b.server.Uninstall(in, string(repo))
	requireCode(t, task.CodeForbidden, b.host.Check(t.Context(), repo))
	require.Contains(t, task.MessageOf(b.host.Check(t.Context(), repo)), "is not installed on acme/app")
}

func TestApp_Probe(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	app, err := github.NewApp(github.AppConfig{ID: appID, Key: pemOf(appKey()), URL: b.server.URL})
	require.NoError(t, err)
	says, err := app.Probe(t.Context())
	require.NoError(t, err)
	require.Contains(t, says, "The App has no installation. Next: install it at "+b.server.URL)
	b.server.Suspend(b.server.Install(appID, nil, string(repo)), true)
	says, err = app.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "GitHub knows the App omoi test (4711); it is installed for acme (suspended).", says)
}

func TestNewApp_InvalidKeyIsNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := github.NewApp(github.AppConfig{ID: appID, Key: []byte("nearly a secret")})
	requireCode(t, task.CodeInvalid, err)
	require.Contains(t, err.Error(), "OMOI_GITHUB_APP_KEY_FILE")
	require.NotContains(t, err.Error(), "nearly")
}

// TestApp_TokenOpensOneRepository checks repositories and permissions of a token of an App with more of both.
func TestApp_TokenOpensOneRepository(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	const other = "acme/other"
	_, err := b.server.Add(other)
	require.NoError(t, err)
	plain := map[string]string{"contents": "write", "pull_requests": "write", "metadata": "read"}
	b.server.Install(appID, map[string]string{
		"contents": "write", "pull_requests": "write", "metadata": "read", "administration": "write", "secrets": "write",
	}, string(repo), other)
	require.NoError(t, b.host.Check(t.Context(), repo))
	require.NoError(t, b.host.Check(t.Context(), other))
	tokens := b.server.AppTokens()
	require.Len(t, tokens, 2)
	for n, full := range []string{string(repo), other} {
		opens, may := b.server.TokenOf(tokens[n])
		require.Equal(t, []string{full}, opens)
		require.Equal(t, plain, may)
	}
	first, err := github.New(github.Config{URL: b.server.URL, Scratch: tempdir.Open(b.temp)}, users{who: tokens[0]})
	require.NoError(t, err)
	require.Error(t, first.As(scm.Owner{UserID: who}).Check(t.Context(), other), "it is as if that was not there")
}

// TestApp_TokenMayChangeWorkflows checks the permission that a push of workflow files needs.
func TestApp_TokenMayChangeWorkflows(t *testing.T) {
	t.Parallel()
	b := withApp(t, appKey(), people{})
	b.server.Install(appID, map[string]string{"contents": "write", "pull_requests": "write", "metadata": "read", "workflows": "write"}, string(repo))
	require.NoError(t, b.host.Check(t.Context(), repo))
	_, may := b.server.TokenOf(b.server.AppTokens()[0])
	require.Equal(t, "write", may["workflows"])
}
