package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// flow is a Git host that returns what a test sets, and records the owner of each call.
type flow struct {
	who      scm.Owner
	merge    client.BranchMerge
	left     string
	conflict bool
	err      error
}

func (f *flow) StartBranch(_ context.Context, who scm.Owner, in client.BranchStart) (string, string, error) {
	f.who = who
	return in.TicketType + "/" + in.TicketID, "sha1", f.err
}

func (f *flow) FinishBranch(_ context.Context, who scm.Owner, _ client.BranchFinish) (int, string, error) {
	f.who = who
	return 7, "https://github.com/acme/app/pull/7", f.err
}

func (f *flow) MergeBranch(_ context.Context, who scm.Owner, in client.BranchMerge) (string, string, bool, error) {
	f.who, f.merge = who, in
	return "sha2", f.left, f.conflict, f.err
}

func (f *flow) BranchStatus(_ context.Context, who scm.Owner, _ client.CompareBranchRequest) (int, int, bool, error) {
	f.who = who
	return 2, 1, true, f.err
}

func place(user string) client.BranchPlace {
	return client.BranchPlace{RepoOwner: "acme", RepoName: "app", UserID: user}
}

func (w *world) branch(verb string, in any, headers ...string) answer {
	w.t.Helper()
	return w.call(http.MethodPost, "/api/v1/branch-workflow/"+verb, in, headers...)
}

func TestBranchWorkflow_KeepsLegacyForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	ticket := client.BranchTicket{TicketID: "t-1", TicketTitle: "Say hello"}
	started := ok[client.BranchStarted](w.branch("start",
		client.BranchStart{BranchPlace: place("other"), BranchTicket: ticket}), http.StatusOK)
	require.True(t, started.Success)
	require.Equal(t, "feature/t-1", *started.BranchName)
	require.Nil(t, started.Error)
	finished := ok[client.BranchFinished](w.branch("finish",
		client.BranchFinish{BranchPlace: place(""), BranchTicket: ticket, BranchName: "feature/t-1"}), http.StatusOK)
	require.Equal(t, 7, *finished.PRNumber)
	merged := ok[client.BranchMerged](w.branch("merge",
		client.BranchMerge{BranchPlace: place(""), TicketID: "t-1", PRNumber: 7}), http.StatusOK)
	require.Equal(t, "sha2", *merged.MergeSHA)
	require.Equal(t, "squash", w.flow.merge.MergeMethod)
	require.Nil(t, w.flow.merge.DeleteAfter)
	require.Nil(t, merged.Error)
	w.flow.left = "The branch was not deleted."
	merged = ok[client.BranchMerged](w.branch("merge",
		client.BranchMerge{BranchPlace: place(""), TicketID: "t-1", PRNumber: 7}), http.StatusOK)
	require.True(t, merged.Success)
	require.Equal(t, w.flow.left, *merged.Error, "the result lists what was not done")
	standing := ok[client.BranchComparison](w.branch("status",
		client.CompareBranchRequest{BranchPlace: place(""), BranchName: "feature/t-1"}), http.StatusOK)
	require.Equal(t, client.BranchComparison{Success: true, AheadBy: 2, BehindBy: 1, HasConflicts: true}, standing)
}

// A request that the Git host rejects gets status 200, as in the legacy API; an error of omoi does not.
func TestBranchWorkflow_ReturnsRejectionsOfTheHost(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.flow.conflict, w.flow.err = true, task.Errorf(task.CodeConflict, "Pull request #7 has conflicts.")
	merged := ok[client.BranchMerged](w.branch("merge",
		client.BranchMerge{BranchPlace: place(""), TicketID: "t-1", PRNumber: 7}), http.StatusOK)
	require.False(t, merged.Success)
	require.True(t, merged.HasConflicts)
	require.Nil(t, merged.MergeSHA)
	require.Equal(t, "Pull request #7 has conflicts.", *merged.Error)
	w.flow.err = context.DeadlineExceeded
	w.branch("merge", client.BranchMerge{BranchPlace: place(""), TicketID: "t-1", PRNumber: 7}).
		refused(http.StatusServiceUnavailable, "")
	for name, in := range map[string]client.BranchMerge{
		"merge_method": {BranchPlace: place(""), TicketID: "t-1", PRNumber: 7, MergeMethod: "octopus"},
		"pr_number":    {BranchPlace: place(""), TicketID: "t-1"},
		"ticket_id":    {BranchPlace: place(""), PRNumber: 7},
		"repo_name":    {BranchPlace: client.BranchPlace{RepoOwner: "acme", RepoName: "../x"}, TicketID: "t-1", PRNumber: 7},
	} {
		w.branch("merge", in).refused(http.StatusUnprocessableEntity, "body."+name)
	}
}

// A caller acts on its own behalf, whatever user a request names.
func TestBranchWorkflow_ActsForTheCaller(t *testing.T) {
	t.Parallel()
	w := start(t, func(*api.Config) {})
	key, secret, err := w.store.CreateKey(t.Context(), w.org,
		client.CreateAPIKeyRequest{User: "alice", Name: "k", Scopes: []string{"write"}})
	require.NoError(t, err)
	bearer := "Bearer " + secret
	for _, user := range []string{"", key.UserID, "alice"} {
		ok[client.BranchComparison](w.branch("status", client.CompareBranchRequest{BranchPlace: place(user), BranchName: "b"},
			authorization, bearer), http.StatusOK)
		require.Equal(t, key.UserID, w.flow.who.UserID)
	}
	w.flow.who = scm.Owner{}
	other := client.CompareBranchRequest{BranchPlace: place(task.NewID()), BranchName: "b"}
	w.branch("status", other, authorization, bearer).refused(http.StatusForbidden, "")
	require.Zero(t, w.flow.who, "nobody was asked")
	resp, err := http.Post(w.url+"/api/v1/branch-workflow/status", "application/json", nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
}
