package task

import "time"

// States of a question. Only an open one can be answered.
const (
	QuestionOpen      = "open"
	QuestionAnswered  = "answered"
	QuestionCancelled = "cancelled" // the task ended or continued without an answer, or the agent asked something else
	QuestionExpired   = "expired"   // nobody answered in time
)

// Kinds of questions.
const (
	QuestionText       = "question"
	QuestionPermission = "permission"
)

// Ways on which answers arrive.
const (
	ChannelAPI     = "api"     // the operation that answers a question
	ChannelMessage = "message" // a message of a user to the agent that waited for the answer
)

// Question is what an agent asks a user.
type Question struct {
	ID          string     `json:"id" doc:"UUID of the question."`
	TaskID      string     `json:"task_id" doc:"Task whose agent asks."`
	Attempt     int        `json:"attempt" doc:"Number of the attempt whose agent asked last."`
	SandboxID   string     `json:"sandbox_id" doc:"Sandbox of that attempt, in which the agent waited for the answer."`
	Sequence    int64      `json:"sequence" doc:"Sequence of the event agent.waiting with the question."`
	Kind        string     `json:"kind" enum:"question,permission" doc:"question: any answer helps; permission: the agent asks whether it may do something."`
	Text        string     `json:"text" doc:"What the agent asks, at most 16,000 characters."`
	Options     []string   `json:"options" nullable:"false" doc:"Answers that the agent proposes, at most 20. Another text is an answer too. Empty: none."`
	State       string     `json:"state" enum:"open,answered,cancelled,expired" doc:"open: awaits an answer; answered: the first answer counts; cancelled: the task ended or continued without an answer, or the agent asked something else; expired: nobody answered in time."`
	Reason      string     `json:"reason" doc:"Sentence: why the question was cancelled or has expired. Empty: neither."`
	Answer      string     `json:"answer" doc:"The answer. Empty: none."`
	AnsweredBy  string     `json:"answered_by" doc:"Who answered: name of an API key or user. Empty: no answer."`
	Channel     string     `json:"channel" enum:",api,message" doc:"How the answer came; message: a message to the agent while it waited. Empty: no answer."`
	AskedAt     time.Time  `json:"asked_at" doc:"When the question was stored first."`
	SuspendedAt *time.Time `json:"suspended_at" doc:"When the task was suspended for the question: since then it has no sandbox and no slot. Null: not suspended for it."`
	ExpiresAt   *time.Time `json:"expires_at" doc:"Until when an answer is awaited; then the task fails. Null: without a limit."`
	SettledAt   *time.Time `json:"settled_at" doc:"When the state left open. Null: open."`
}

// Answered is a question with its answer, for the next attempt.
type Answered struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Answer is an answer of a user to a question.
type Answer struct {
	OrganizationID string
	QuestionID     string
	Text           string
	By             string
}
