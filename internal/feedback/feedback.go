// Package feedback defines feedback on a pull request: failed checks, reviews and comments. [Decide] decides what omoi
// does with feedback, and [Text] renders feedback for an agent.
package feedback

import "time"

// Feedback is one event about a pull request that omoi opened: a check, a review, a comment, or a change of its state.
// Its texts are untrusted.
type Feedback struct {
	Delivery string // delivery ID of the Git host
	Digest   []byte // of the signed body: the same body under another ID is a duplicate
	At       time.Time

	Repo     string // owner/name
	Numbers  []int  // pull requests that the event may be about
	Branches []string

	Kind       Kind
	Subject    string // one feedback for each subject of a pull request is sent; empty: all are
	Commit     string // commit of a check
	Whole      bool   // the check summarizes other checks of its commit
	Author     string // login; empty: a machine
	Opener     string // login of the author of the pull request
	Note       string // one line: author, kind and place
	Text       string // what the author wrote; may be empty
	URL        string
	PullClosed bool          // the pull request is closed or merged
	PullState  string        // state that [KindPull] reports
	Settle     time.Duration // how long omoi waits for more feedback before sending
}

// Kind is the kind of feedback.
type Kind string

// Kinds of feedback.
const (
	KindCheck   Kind = "check"   // a check failed
	KindReview  Kind = "review"  // of the whole pull request
	KindComment Kind = "comment" // on a line, or in the conversation
	KindPull    Kind = "pull"    // the pull request was closed, merged or reopened
)

// States of a pull request.
const (
	PullOpen   = "open"
	PullClosed = "closed"
	PullMerged = "merged"
)

// Mode is what a project does with feedback.
type Mode string

// Values of [Mode].
const (
	ModeOff     Mode = "off"
	ModeMessage Mode = "message" // send to the running agent
	ModeRevise  Mode = "revise"  // and, if no agent runs, create a task that continues the branch
)

// States of accepted feedback.
const (
	StatePending      = "pending"      // not sent yet
	StateSent         = "sent"         // an agent has a message
	StateAcknowledged = "acknowledged" // the agent acknowledged the message
	StateTaskCreated  = "task_created"
	StateIgnored      = "ignored"
)

// Limits of feedback.
const (
	Window            = 72 * time.Hour // maximum age: older feedback is not accepted, and pending feedback is dropped
	MaxPerPullRequest = 200            // accepted for one pull request
	MaxNote           = 300            // characters of a note
	MaxText           = 4_000          // characters of a text
	mostTold          = 40_000         // bytes of feedback in one message or description
	mostAsked         = 12_000         // characters of the first task's description
	mostReviseTitle   = 200
)

// Noted is the answer to a webhook delivery.
type Noted struct {
	State  string `json:"status" enum:"pending,noted,repeated,ignored,pong" doc:"pending: an agent or a new task will receive the feedback; noted: the event is recorded; repeated: the delivery was received before; ignored: reason says why; pong: answer to a ping."`
	Reason string `json:"reason,omitempty" doc:"Why the feedback is ignored. Left out: not ignored."`
	TaskID string `json:"task_id,omitempty" doc:"Task whose pull request the feedback is about. Left out: unknown."`
}

// States of [Noted], besides [StatePending] and [StateIgnored].
const (
	StateNoted    = "noted"
	StateRepeated = "repeated"
)

// Item is stored feedback with its state, for users.
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

// TaskFeedback is the feedback on the pull request of a task, with the tasks that the feedback created.
type TaskFeedback struct {
	RootID    string   `json:"root_id" doc:"Task that opened the pull request."`
	Follows   string   `json:"follows" doc:"Task whose work this one continues. Empty: none."`
	Followers []string `json:"followers" nullable:"false" doc:"Tasks that feedback on the pull request created, oldest first."`
	PullState string   `json:"pull_request_state" enum:",open,closed,merged" doc:"open, closed or merged, as the Git host reported last. Empty: no report."`

	Items      []Item  `json:"items" nullable:"false" doc:"Feedback on the pull request, oldest first."`
	NextCursor *string `json:"next_cursor" doc:"Pass as cursor to get the next page. null: this is the last page."`
}
