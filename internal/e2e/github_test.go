package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

const (
	hubRepo  = "acme/app"
	hubToken = "ghp_theTokenOfTheEndToEndTest0123456789"
)

// newHub starts a GitHub emulator with one repository, and the rig's settings for it.
func newHub(t *testing.T) (hub *githubtest.Server, bare string, settings map[string]string) {
	t.Helper()
	hub, err := githubtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	bare, err = hub.Add(hubRepo)
	require.NoError(t, err)
	hub.Grant(hubToken, hubRepo, "push")
	return hub, bare, map[string]string{"OMOI_GITHUB_URL": hub.URL, "GITHUB_TOKEN": hubToken}
}

// TestTaskOnGitHub runs tasks from branch to pull request on a GitHub emulator that loses answers, and then against a
// person who force-pushes and a token that is revoked in mid-run.
func TestTaskOnGitHub(t *testing.T) {
	t.Parallel()
	began := time.Now()
	hub, bare, settings := newHub(t)
	r := newRig(t, settings).up()
	for _, call := range []string{"POST git/refs", "POST git-receive-pack", "POST pulls"} {
		hub.Break(githubtest.Fault{Call: call, Lose: true})
	}
	good := r.submit(hub.URL+"/"+hubRepo+".git", script(stepWrite, stepCommit, `{"bash":{"command":"! env | grep -q `+hubToken[:9]+"''"+hubToken[9:]+`"}}`, stepComplete))
	require.Equal(t, hubRepo, good.Repo, "one repository has one name")
	forced := r.submit(hubRepo, script(stepWrite, stepCommit, waitsForMessage, stepComplete), retries(0))

	done := r.ends(good.ID, task.StatusCompleted)
	pulls := hub.Pulls(hubRepo)
	require.Len(t, pulls, 1)
	require.Equal(t, hub.URL+"/"+hubRepo+"/pull/1", text(done.PullURL))
	require.Equal(t, text(done.Branch), pulls[0].Head)
	for _, want := range []string{"a task of the tests", "- `hello.txt` +1 −0", "omoi receipt " + good.ID} {
		require.Contains(t, pulls[0].Body, want)
	}
	show := r.run("git", "-C", bare, "show", text(done.Branch)+":hello.txt")
	require.Equal(t, "hello\n", show.stdout, show.stderr)

	r.personForces(bare, text(r.waiting(forced.ID).Branch))
	r.goOn(forced.ID)
	lost := r.ends(forced.ID, task.StatusFailed)
	require.Equal(t, task.ClassPublish, lost.FailureClass)
	require.Contains(t, text(lost.ErrorMessage), "another user pushed")
	r.noLeaks()
	require.Equal(t, task.SalvageRef, r.task(forced.ID).Attempts[0].Salvage.Kind)
	rescued := r.run("git", "-C", bare, "show", r.task(forced.ID).Attempts[0].Salvage.Ref+":hello.txt")
	require.Equal(t, "hello\n", rescued.stdout, rescued.stderr)

	at := apiclient.BranchPlace{RepoOwner: "acme", RepoName: "app"}
	standing := branchWorkflow[apiclient.BranchComparison](r, "status", apiclient.CompareBranchRequest{BranchPlace: at, BranchName: text(done.Branch)})
	require.Equal(t, apiclient.BranchComparison{Success: true, AheadBy: 1}, standing)
	keep := false
	merged := branchWorkflow[apiclient.BranchMerged](r, "merge", apiclient.BranchMerge{BranchPlace: at, TicketID: good.TicketID, PRNumber: 1, DeleteAfter: &keep})
	require.True(t, merged.Success, text(merged.Error))
	require.Equal(t, "hello\n", r.run("git", "-C", bare, "show", "main:hello.txt").stdout)

	revoked := r.submit(hubRepo, script(`{"write":{"path":"more.txt","content":"more\n"}}`, stepCommit, waitsForMessage, stepComplete), retries(0))
	r.waiting(revoked.ID)
	hub.Revoke(hubToken)
	r.goOn(revoked.ID)
	refused := r.ends(revoked.ID, task.StatusFailed)
	require.Equal(t, task.ClassCredentials, refused.FailureClass)
	require.Contains(t, text(refused.ErrorMessage), "GitHub refused the token")
	r.noLeaks()
	require.Equal(t, task.SalvagePatch, r.task(revoked.ID).Attempts[0].Salvage.Kind, "omoi keeps what GitHub does not take")
	r.bundleComesOut(bare, revoked.ID)

	_, _, err := r.api.CreateTask(context.Background(), apiclient.CreateTaskRequest{Repo: hubRepo, Description: "again", Agent: task.AgentExternal}, "")
	require.ErrorContains(t, err, "expired")
	require.Len(t, hub.Pulls(hubRepo), 1)
	require.Equal(t, 1, strings.Count(strings.Join(heads(r, bare), " "), text(done.Branch)), "one branch")

	hub.Grant(hubToken, hubRepo, "push")
	r.retry(revoked.ID)
	kept := r.ends(revoked.ID, task.StatusCompleted)
	require.Equal(t, 1, kept.AttemptCount, "what omoi kept is published")
	require.Equal(t, "more\n", r.run("git", "-C", bare, "show", text(kept.Branch)+":more.txt").stdout)
	require.Len(t, hub.Pulls(hubRepo), 2)

	require.NotContains(t, pulls[0].Title+pulls[0].Body, hubToken)
	token := []string{hubToken}
	require.Empty(t, r.inAnswers(token, good.ID, forced.ID, revoked.ID), "the token in an answer")
	require.Empty(t, r.inHistories(token, good.ID, forced.ID, revoked.ID), "the token in a history")
	require.Empty(t, r.inTables(token), "the token in a table")
	require.Empty(t, r.inFiles(token, began), "the token in a file")
	require.Empty(t, r.inRepositories(token), "the token in a repository")
}

// branchWorkflow calls a route of the branch workflow.
func branchWorkflow[T any](r *rig, verb string, in any) (out T) {
	r.t.Helper()
	content, err := json.Marshal(in)
	require.NoError(r.t, err)
	res, err := http.Post(r.env["OMOI_API_URL"]+"/api/v1/branch-workflow/"+verb, "application/json", bytes.NewReader(content))
	require.NoError(r.t, err)
	defer res.Body.Close()
	require.NoError(r.t, json.NewDecoder(res.Body).Decode(&out))
	return out
}

// bundleComesOut gets the commits of a task out of what omoi keeps, in a clone as a person has one.
func (r *rig) bundleComesOut(bare, id string) {
	r.t.Helper()
	file, clone := filepath.Join(r.dir, "work.bundle"), filepath.Join(r.dir, "clone of "+id)
	written := r.omoi("work", id, "--patch", file)
	require.Zero(r.t, written.code, written.stderr)
	require.Contains(r.t, written.stdout, "git fetch "+file+" '+refs/*:refs/saved/*'")
	require.Zero(r.t, r.run("git", "clone", "-q", bare, clone).code)
	fetched := r.run("git", "-C", clone, "fetch", "-q", file, "+refs/*:refs/saved/*")
	require.Zero(r.t, fetched.code, fetched.stderr)
	shown := r.run("git", "-C", clone, "show", "refs/saved/heads/"+text(r.task(id).Branch)+":more.txt")
	require.Equal(r.t, "more\n", shown.stdout, shown.stderr)
}

// waiting waits until the agent waits for a message, and its task tells of its sandbox.
func (r *rig) waiting(id string) task.Task {
	r.t.Helper()
	r.eventually("the agent waits", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id WHERE s.task_id = $1 AND e.event_type = 'agent.waiting'`, id) > 0 && r.task(id).SandboxID != nil
	})
	return r.task(id)
}

// goOn sends the message that a waiting agent waits for.
func (r *rig) goOn(id string) {
	r.t.Helper()
	_, err := r.api.SendMessage(context.Background(), text(r.task(id).SandboxID), apiclient.CreateMessageRequest{Content: "go on"}, "")
	require.NoError(r.t, err)
}

// personForces rewrites a branch as a person does.
func (r *rig) personForces(bare, branch string) {
	r.t.Helper()
	work := filepath.Join(r.dir, "person")
	for _, args := range [][]string{
		{"clone", "-q", "--branch", branch, bare, work},
		{"-C", work, "-c", "user.name=p", "-c", "user.email=p@example.com", "commit", "-q", "--amend", "-m", "rewritten"},
		{"-C", work, "push", "-q", "--force", "origin", branch},
	} {
		res := r.run("git", args...)
		require.Zero(r.t, res.code, res.stderr)
	}
}

func heads(r *rig, bare string) []string {
	return strings.Fields(r.run("git", "-C", bare, "for-each-ref", "--format=%(refname:short)", "refs/heads/").stdout)
}
