package api

import (
	"context"
	"errors"
	"slices"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// Branches works on branches and pull requests at the Git host on behalf of one user. If the host rejects a request,
// the error has a public message.
type Branches interface {
	StartBranch(ctx context.Context, who scm.Owner, in client.BranchStart) (branch, commit string, err error)
	FinishBranch(ctx context.Context, who scm.Owner, in client.BranchFinish) (number int, url string, err error)
	// MergeBranch returns the commit and what was left undone. conflict reports whether there are conflicts; left lists
	// them.
	MergeBranch(ctx context.Context, who scm.Owner, in client.BranchMerge) (commit, left string, conflict bool, err error)
	BranchStatus(
		ctx context.Context, who scm.Owner, in client.CompareBranchRequest,
	) (ahead, behind int, conflict bool, err error)
}

// registerBranches registers the branch workflow in its legacy form: a request that the Git host rejects gets the
// status 200 and success false.
func (a *API) registerBranches() {
	branches := a.group(tagProjects, "/api/v1/branch-workflow")
	add(branches.on(accessWrite, "POST /start", "start-branch", "Create a branch"), a.startBranch,
		details{
			more: "Legacy. Finds the branch of a ticket on GitHub, or creates one from the default branch.",
			says: client.BranchStart{},
		})
	add(branches.on(accessWrite, "POST /finish", "finish-branch", "Create a pull request"), a.finishBranch,
		details{more: "Legacy. Finds the pull request of a branch on GitHub, or opens one.", says: client.BranchFinish{}})
	add(branches.on(accessWrite, "POST /merge", "merge-branch", "Merge a pull request"), a.mergeBranch,
		details{more: "Legacy. Merges a pull request on GitHub, and deletes its branch.", says: client.BranchMerge{}})
	add(branches.on(accessRead, "POST /status", "branch-status", "Compare a branch with its base"), a.branchStatus,
		details{
			more: "Legacy. Counts the commits that a branch on GitHub is ahead of the default branch, and behind.",
			says: client.CompareBranchRequest{},
		})
}

// rawIn is a body that the handler decodes itself: the legacy API ignores unknown fields.
type rawIn struct {
	RawBody []byte `contentType:"application/json"`
}

// field is a required field of a request.
type field struct{ name, value string }

// readBranch reads a request and returns the user on whose behalf to act: the caller. A user_id of another user is
// rejected. If authentication is disabled, there is only one user.
func (a *API) readBranch(
	ctx context.Context, in *rawIn, said any, at *client.BranchPlace, needs func() []field,
) (scm.Owner, error) {
	if err := decode(token.Hide(in.RawBody), said); err != nil {
		return scm.Owner{}, err
	}
	for _, f := range slices.Concat([]field{{"repo_owner", at.RepoOwner}, {"repo_name", at.RepoName}}, needs()) {
		if err := checkTitle(f.name, f.value); err != nil {
			return scm.Owner{}, err
		}
	}
	if _, _, ok := scm.OwnerName(at.RepoOwner + "/" + at.RepoName); !ok {
		return scm.Owner{}, task.Invalid("repo_name", "Invalid repo_name: %q is not a valid repository name of GitHub.", clip(at.RepoOwner+"/"+at.RepoName))
	}
	who := callerOf(ctx)
	if !a.cfg.Open && (who.user == "" || at.UserID != "" && at.UserID != who.user && at.UserID != who.userName) {
		return scm.Owner{}, task.Errorf(task.CodeForbidden,
			"The branch routes act for the caller alone. Next: leave user_id out, or use a credential of that user")
	}
	return scm.Owner{UserID: who.user}, nil
}

// refusal returns the Git host's reason to reject a request; errors of omoi itself stay errors.
func refusal(err error) (*string, error) {
	e, ok := errors.AsType[*task.Error](err)
	if err == nil || !ok || e.Code == task.CodeInternal {
		return nil, err
	}
	return &e.Message, nil
}

func (a *API) startBranch(ctx context.Context, in *rawIn) (*bodyOut[client.BranchStarted], error) {
	said := client.BranchStart{TicketType: "feature"}
	who, err := a.readBranch(ctx, in, &said, &said.BranchPlace, func() []field {
		return []field{{"ticket_id", said.TicketID}, {"ticket_title", said.TicketTitle}}
	})
	if err != nil {
		return nil, err
	}
	branch, commit, err := a.deps.Branches.StartBranch(ctx, who, said)
	out := client.BranchStarted{Success: err == nil}
	if err == nil {
		out.BranchName, out.SHA = &branch, &commit
	}
	out.Error, err = refusal(err)
	return &bodyOut[client.BranchStarted]{out}, err
}

func (a *API) finishBranch(ctx context.Context, in *rawIn) (*bodyOut[client.BranchFinished], error) {
	var said client.BranchFinish
	who, err := a.readBranch(ctx, in, &said, &said.BranchPlace, func() []field {
		return []field{{"ticket_id", said.TicketID}, {"ticket_title", said.TicketTitle}, {"branch_name", said.BranchName}}
	})
	if err == nil {
		err = checkText("pr_body", said.PRBody, maxDescription)
	}
	if err != nil {
		return nil, err
	}
	number, url, err := a.deps.Branches.FinishBranch(ctx, who, said)
	out := client.BranchFinished{Success: err == nil}
	if err == nil {
		out.PRNumber, out.PRURL = &number, &url
	}
	out.Error, err = refusal(err)
	return &bodyOut[client.BranchFinished]{out}, err
}

func (a *API) mergeBranch(ctx context.Context, in *rawIn) (*bodyOut[client.BranchMerged], error) {
	said := client.BranchMerge{MergeMethod: "squash"}
	who, err := a.readBranch(ctx, in, &said, &said.BranchPlace,
		func() []field { return []field{{"ticket_id", said.TicketID}} })
	if err == nil {
		said.MergeMethod, err = oneOf("merge_method", said.MergeMethod, "squash", []string{"merge", "squash", "rebase"})
	}
	if err == nil && said.PRNumber < 1 {
		err = task.Invalid("pr_number", "Missing pr_number: the number of the pull request.")
	}
	if err != nil {
		return nil, err
	}
	commit, left, conflict, err := a.deps.Branches.MergeBranch(ctx, who, said)
	out := client.BranchMerged{Success: err == nil, HasConflicts: conflict}
	if err == nil {
		out.MergeSHA = &commit
	}
	if out.Error, err = refusal(err); out.Success && left != "" {
		out.Error = &left
	}
	return &bodyOut[client.BranchMerged]{out}, err
}

func (a *API) branchStatus(ctx context.Context, in *rawIn) (*bodyOut[client.BranchComparison], error) {
	var said client.CompareBranchRequest
	who, err := a.readBranch(ctx, in, &said, &said.BranchPlace,
		func() []field { return []field{{"branch_name", said.BranchName}} })
	if err != nil {
		return nil, err
	}
	ahead, behind, conflict, err := a.deps.Branches.BranchStatus(ctx, who, said)
	out := client.BranchComparison{Success: err == nil, AheadBy: ahead, BehindBy: behind, HasConflicts: conflict}
	out.Error, err = refusal(err)
	return &bodyOut[client.BranchComparison]{out}, err
}
