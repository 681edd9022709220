// Package feedback holds what others say of a pull request: its checks and its reviewers. [Decide] rules what omoi does about
// it, and [Text] words it for an agent.
package feedback

import "time"

// Feedback is what somebody outside of omoi said of a pull request of ours: its checks, its reviewers, or what became of
// it. Its words come from anybody.
type Feedback struct {
	Delivery string // the host's id of it
	Digest   []byte // of all that was signed: the same under another id is no other
	At       time.Time

	Repo     string // owner/name
	Numbers  []int  // of the pull requests that it may be about
	Branches []string

	Kind       Kind
	Subject    string // told once for each pull request; empty: every time
	Commit     string // of a check
	Whole      bool   // a check that sums others of its commit up
	Author     string // login; empty: a machine
	Opener     string // login of whoever opened the pull request
	Note       string // one line: who says what, and where
	Text       string // what was said; may be empty
	URL        string
	PullClosed bool          // it is closed or merged by now
	PullState  string        // of [KindPull]: open, closed, merged
	Settle     time.Duration // how long more of the same is waited for
}

// Kind says of what kind feedback is.
type Kind string

// The kinds of feedback.
const (
	KindCheck   Kind = "check"   // something automatic failed
	KindReview  Kind = "review"  // of the whole
	KindComment Kind = "comment" // of a line, or in the conversation
	KindPull    Kind = "pull"    // the pull request was closed, merged or opened again
)

// States of a pull request.
const (
	PullOpen   = "open"
	PullClosed = "closed"
	PullMerged = "merged"
)

// Mode is what a project does about feedback.
type Mode string

// What a project may do about feedback.
const (
	ModeOff     Mode = "off"
	ModeMessage Mode = "message" // tell the agent that is at work
	ModeRevise  Mode = "revise"  // and where none is, start a task that goes on with the branch
)

// States of feedback that was taken.
const (
	StatePending      = "pending"      // waits to be sent
	StateSent         = "sent"         // an agent has a message
	StateAcknowledged = "acknowledged" // the agent acknowledged the message
	StateTaskCreated  = "task_created"
	StateIgnored      = "ignored"
)

// Bounds of feedback.
const (
	Window            = 72 * time.Hour // older feedback is not taken, and what nobody could be told of for so long is dropped
	MaxPerPullRequest = 200            // taken for one pull request
	MaxNote           = 300            // characters of a note
	MaxText           = 4_000          // characters of a text
	mostTold          = 40_000         // bytes that one message or description has for feedback
	mostAsked         = 12_000         // characters of what was asked first
	mostReviseTitle   = 200
)

// Noted is what became of feedback when it came.
type Noted struct {
	State  string `json:"status" enum:"pending,noted,repeated,ignored,pong" doc:"pending: an agent or a new task will receive the feedback; noted: the event is recorded; repeated: the delivery was received before; ignored: reason says why; pong: answer to a ping."`
	Reason string `json:"reason,omitempty" doc:"Why the feedback is ignored. Left out: not ignored."`
	TaskID string `json:"task_id,omitempty" doc:"Task whose pull request the feedback is about. Left out: unknown."`
}

// What becomes of feedback beside [StatePending] and [StateIgnored].
const (
	StateNoted    = "noted"
	StateRepeated = "repeated"
)

// Item is feedback as people look at it.
type Item struct {
	Kind      Kind      `json:"kind" enum:"check,review,comment" doc:"check: a failed check; review: of the whole pull request; comment: on a line, or in the conversation."`
	Author    string    `json:"author" doc:"Login at the Git host. Empty: a machine."`
	Note      string    `json:"note" doc:"One line: who says what, and where. At most 300 characters."`
	URL       string    `json:"url" doc:"Web address of the check, review or comment. Empty: unknown."`
	State     string    `json:"state" enum:"pending,sent,acknowledged,task_created,ignored" doc:"pending: waits to be sent; sent: an agent has a message; acknowledged: the agent read the message; task_created: a new task works on the feedback; ignored: reason says why."`
	Reason    string    `json:"reason" doc:"Why the feedback is ignored. Empty: not ignored."`
	TaskID    string    `json:"task_id" doc:"Task whose agent got the message, or that was created. Empty: none."`
	MessageID string    `json:"message_id" doc:"Message that brought the feedback to an agent, for GET /api/v1/messages/{message_id}. Empty: none."`
	At        time.Time `json:"created_at" doc:"When omoi received the feedback."`
}

// TaskFeedback is what was said from outside of the pull request of a task, and what omoi did about it.
type TaskFeedback struct {
	RootID    string   `json:"root_id" doc:"Task that opened the pull request."`
	Follows   string   `json:"follows" doc:"Task whose work this one continues. Empty: none."`
	Followers []string `json:"followers" nullable:"false" doc:"Tasks that feedback on the pull request created, oldest first."`
	PullState string   `json:"pull_request_state" enum:",open,closed,merged" doc:"open, closed or merged, as the Git host reported last. Empty: no report."`

	Items      []Item  `json:"items" nullable:"false" doc:"Feedback on the pull request, oldest first."`
	NextCursor *string `json:"next_cursor" doc:"Pass as cursor to get the next page. null: this is the last page."`
}
