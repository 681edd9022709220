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
	StateHeld    = "held"    // waits to be sent
	StateSent    = "sent"    // an agent has a message
	StateHeard   = "heard"   // and has taken it up
	StateStarted = "started" // it started a task
	StateIgnored = "ignored"
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
	State  string `json:"status" doc:"held: an agent or a new task will receive the feedback; noted: the event is recorded; repeated: the delivery was received before; ignored: the reason says why"`
	Reason string `json:"reason,omitempty" doc:"Why it is ignored"`
	TaskID string `json:"task_id,omitempty" doc:"The task whose pull request it is about"`
}

// What becomes of feedback beside [StateHeld] and [StateIgnored].
const (
	StateNoted    = "noted"
	StateRepeated = "repeated"
)

// Item is feedback as people look at it.
type Item struct {
	Kind      Kind      `json:"kind" doc:"check, review, comment"`
	Author    string    `json:"author" doc:"Login; empty: a machine"`
	Note      string    `json:"note"`
	URL       string    `json:"url"`
	State     string    `json:"state" doc:"held: waits to be sent; sent: an agent has a message; heard: the agent acknowledged the message; started: a task was created for the feedback; ignored: the reason says why"`
	Reason    string    `json:"reason" doc:"Why nobody was told"`
	TaskID    string    `json:"task_id" doc:"The task whose agent was told, or that was started; empty: none"`
	MessageID string    `json:"message_id" doc:"The message to that agent; empty: none"`
	At        time.Time `json:"created_at"`
}

// Story is what was said from outside of the pull request of a task, and what omoi did about it.
type Story struct {
	RootID    string   `json:"root_id" doc:"The task that opened the pull request"`
	Follows   string   `json:"follows" doc:"The task whose work this one goes on with; empty: none"`
	Followers []string `json:"followers" nullable:"false" doc:"The tasks that feedback started, oldest first"`
	PullState string   `json:"pull_request_state" doc:"open, closed or merged, as the host told last; empty: it told nothing"`
	Items     []Item   `json:"items" nullable:"false" doc:"Oldest first"`
}
