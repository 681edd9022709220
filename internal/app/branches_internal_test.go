package app

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

type oneToken string

func (t oneToken) Token(context.Context, string, string) (token string, own, ours bool, err error) {
	return string(t), true, false, nil
}

// onGitHub returns the branch workflow on an emulator with the repositories acme/app and acme/empty.
func onGitHub(t *testing.T) (*githubtest.Server, branches) {
	t.Helper()
	server, err := githubtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	_, err = server.Add("acme/app")
	require.NoError(t, err)
	server.Grant("ghp_token", "acme/app", "push")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	hub, err := github.New(github.Config{URL: server.URL, HTTP: &http.Client{Transport: transport}}, oneToken("ghp_token"))
	require.NoError(t, err)
	return server, branches{hub: hub}
}

func TestBranchStart_CallsGitHubThreeTimes(t *testing.T) {
	t.Parallel()
	in := client.BranchStart{
		BranchPlace:  client.BranchPlace{RepoOwner: "acme", RepoName: "app"},
		BranchTicket: client.BranchTicket{TicketID: "t-1", TicketTitle: "Say hello"},
	}
	for failures, works := range map[int]bool{1: true, 2: true, 3: false} {
		server, flow := onGitHub(t)
		server.Break(githubtest.Fault{Status: http.StatusBadGateway, Max: failures})
		branch, commit, err := flow.StartBranch(t.Context(), scm.Owner{}, in)
		if !works {
			require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
			require.Len(t, server.Calls(), 3)
			continue
		}
		require.NoError(t, err, "after %d failures", failures)
		require.Equal(t, "feature/t-1-say-hello", branch)
		require.NotEmpty(t, commit)
	}
}

func TestBranchStart_RefusalIsFinal(t *testing.T) {
	t.Parallel()
	server, flow := onGitHub(t)
	server.Break(githubtest.Fault{Status: http.StatusForbidden, Max: 3})
	_, _, err := flow.StartBranch(t.Context(), scm.Owner{}, client.BranchStart{
		BranchPlace: client.BranchPlace{RepoOwner: "acme", RepoName: "app"}, BranchTicket: client.BranchTicket{TicketID: "t-1"},
	})
	require.Equal(t, task.CodeForbidden, task.CodeOf(err))
	require.Len(t, server.Calls(), 1)
}
