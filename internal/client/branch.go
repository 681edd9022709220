package client

// BranchPlace is what every request of the branch workflow says: the repository, and for whom. The
// server acts for the caller alone, so that user_id may be left out.
type BranchPlace struct {
	RepoOwner string `json:"repo_owner"`
	RepoName  string `json:"repo_name"`
	UserID    string `json:"user_id,omitempty" doc:"The caller's own; another's is refused"`
}

// BranchTicket is the ticket that a branch is for.
type BranchTicket struct {
	TicketID    string `json:"ticket_id"`
	TicketTitle string `json:"ticket_title"`
}

// BranchStart asks for the branch of a ticket: POST /api/v1/branch-workflow/start.
type BranchStart struct {
	BranchPlace
	BranchTicket

	TicketType string `json:"ticket_type,omitempty" doc:"feature, bug, refactor, docs, test, chore, release; default feature"`
	Priority   string `json:"priority,omitempty"`
}

// BranchStarted is its answer. The answers of the branch workflow come with status 200 also where
// success is false.
type BranchStarted struct {
	Success    bool    `json:"success"`
	BranchName *string `json:"branch_name"`
	SHA        *string `json:"sha"`
	Error      *string `json:"error"`
}

// BranchFinish asks for the pull request of a branch.
type BranchFinish struct {
	BranchPlace
	BranchTicket

	BranchName string `json:"branch_name"`
	PRBody     string `json:"pr_body,omitempty"`
}

// BranchFinished is its answer.
type BranchFinished struct {
	Success  bool    `json:"success"`
	PRNumber *int    `json:"pr_number"`
	PRURL    *string `json:"pr_url"`
	Error    *string `json:"error"`
}

// BranchMerge asks for the merge of a pull request.
type BranchMerge struct {
	BranchPlace

	TicketID    string `json:"ticket_id"`
	PRNumber    int    `json:"pr_number"`
	DeleteAfter *bool  `json:"delete_branch_after,omitempty" doc:"Default true"`
	MergeMethod string `json:"merge_method,omitempty" doc:"merge, squash or rebase; default squash"`
}

// BranchMerged is its answer.
type BranchMerged struct {
	Success      bool    `json:"success"`
	MergeSHA     *string `json:"merge_sha"`
	HasConflicts bool    `json:"has_conflicts"`
	Error        *string `json:"error"`
}

// BranchLook asks how a branch stands to the default branch.
type BranchLook struct {
	BranchPlace

	BranchName string `json:"branch_name"`
}

// BranchStanding is its answer.
type BranchStanding struct {
	Success      bool    `json:"success"`
	AheadBy      int     `json:"ahead_by"`
	BehindBy     int     `json:"behind_by"`
	HasConflicts bool    `json:"has_conflicts"`
	Error        *string `json:"error"`
}
