package client

// BranchPlace names the repository and the user of a branch workflow request. The user_id is optional, since the server
// acts on behalf of the caller.
type BranchPlace struct {
	RepoOwner string `json:"repo_owner" doc:"User or organization on GitHub that owns the repository."`
	RepoName  string `json:"repo_name" doc:"Name of the repository, without its owner."`
	UserID    string `json:"user_id,omitempty" doc:"ID or name of the caller; another user is rejected with 403. Default: the caller."`
}

// BranchTicket is the ticket of a branch.
type BranchTicket struct {
	TicketID    string `json:"ticket_id" doc:"ID of the ticket; any text of letters, digits, - and _, since the branch name contains it."`
	TicketTitle string `json:"ticket_title" doc:"Title of the ticket, from which branch name and pull request title are made."`
}

// BranchStart is the body of POST /api/v1/branch-workflow/start.
type BranchStart struct {
	BranchPlace
	BranchTicket

	TicketType string `json:"ticket_type,omitempty" doc:"Prefix of the branch name: feature, bug, refactor, docs, test, chore or release; anything else is feature. Default: feature."`
	Priority   string `json:"priority,omitempty" doc:"critical with ticket_type bug makes a hotfix branch; other values have no effect. Default: none."`
}

// BranchStarted is the response to [BranchStart]. The responses of the branch workflow have status 200 even if Success
// is false.
type BranchStarted struct {
	Success    bool    `json:"success" doc:"true: the branch exists. false comes with status 200 too, and error tells why."`
	BranchName *string `json:"branch_name" doc:"Name of the found or created branch. null: success is false."`
	SHA        *string `json:"sha" doc:"Commit that the branch points to. null: success is false."`
	Error      *string `json:"error" doc:"What GitHub or omoi rejected. null: success is true."`
}

// BranchFinish requests the pull request of a branch.
type BranchFinish struct {
	BranchPlace
	BranchTicket

	BranchName string `json:"branch_name" doc:"Branch with the work, the head of the pull request."`
	PRBody     string `json:"pr_body,omitempty" doc:"Text of the pull request, at most 64 KiB. Default: a text that names the ticket."`
}

// BranchFinished is the response to [BranchFinish].
type BranchFinished struct {
	Success  bool    `json:"success" doc:"true: the pull request exists. false comes with status 200 too, and error tells why."`
	PRNumber *int    `json:"pr_number" doc:"Number of the found or created pull request. null: success is false."`
	PRURL    *string `json:"pr_url" doc:"Address of the pull request on GitHub. null: success is false."`
	Error    *string `json:"error" doc:"What GitHub or omoi rejected. null: success is true."`
}

// BranchMerge requests the merge of a pull request.
type BranchMerge struct {
	BranchPlace

	TicketID    string `json:"ticket_id" doc:"ID of the ticket that the pull request belongs to."`
	PRNumber    int    `json:"pr_number" doc:"Number of the pull request to merge, from 1."`
	DeleteAfter *bool  `json:"delete_branch_after,omitempty" doc:"true: delete the merged branch. Default: true."`
	MergeMethod string `json:"merge_method,omitempty" doc:"How GitHub merges: merge, squash or rebase. Default: squash."`
}

// BranchMerged is the response to [BranchMerge].
type BranchMerged struct {
	Success      bool    `json:"success" doc:"true: the pull request is merged. false comes with status 200 too, and error tells why."`
	MergeSHA     *string `json:"merge_sha" doc:"Commit of the merge. null: success is false."`
	HasConflicts bool    `json:"has_conflicts" doc:"true: the branches conflict, so that the pull request was not merged."`
	Error        *string `json:"error" doc:"Why nothing was merged; if success is true, what was not done after the merge. null: nothing to report."`
}

// CompareBranchRequest requests the comparison of a branch with the default branch.
type CompareBranchRequest struct {
	BranchPlace

	BranchName string `json:"branch_name" doc:"Branch to compare with the default branch of the repository."`
}

// BranchComparison is the response to [CompareBranchRequest].
type BranchComparison struct {
	Success      bool    `json:"success" doc:"true: the comparison worked. false comes with status 200 too, and error tells why."`
	AheadBy      int     `json:"ahead_by" doc:"Commits that only the branch has. 0 if success is false."`
	BehindBy     int     `json:"behind_by" doc:"Commits that only the default branch has. 0 if success is false."`
	HasConflicts bool    `json:"has_conflicts" doc:"true: GitHub reports that an open pull request of the branch conflicts."`
	Error        *string `json:"error" doc:"What GitHub or omoi rejected. null: success is true."`
}
