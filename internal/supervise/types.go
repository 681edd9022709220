package supervise

import (
	"context"
	"errors"
	"time"

	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Subject is one attempt of a task as the guardian reads it. The caller fills the fields up to Counts from the store,
// then calls [Subject.Read] with the newest events. All times are ages at the moment of the analysis.
type Subject struct {
	TaskID    string `json:"task_id" doc:"UUID of the analyzed task."`
	SandboxID string `json:"sandbox_id" doc:"ID of the sandbox in which the agent runs."`
	ProjectID string `json:"project_id,omitempty" doc:"UUID of the project of the task."`
	Attempt   int    `json:"attempt" doc:"Number of the attempt in its task, from 1."`

	Title            string `json:"title" doc:"Title of the task, without secrets."`
	Description      string `json:"description" doc:"What the agent was told to do, without secrets."`
	TaskType         string `json:"task_type,omitempty" doc:"Kind of work, for example implementation."`
	Mode             string `json:"mode,omitempty" doc:"exploration, implementation or validation."`
	Phase            string `json:"phase,omitempty" doc:"phase_id of the task, for example PHASE_IMPLEMENTATION."`
	TestCommand      string `json:"test_command,omitempty" doc:"Shell command that tests the work. Absent: none."`
	WaitsForMessages bool   `json:"waits_for_messages,omitempty" doc:"True: the agent is meant to stay when its work is done."`
	// Contract is all that rules know of what the task allows and asks for.
	Contract taskcontract.InForce `json:"contract" doc:"Task contract in force."`
	// Said holds the messages of users from the store. Events of the agent only date them, because the agent could
	// forge them.
	Said []Said `json:"said,omitempty" doc:"Messages of users that the agent acknowledged. Absent: none."`

	Age       time.Duration    `json:"age" doc:"Nanoseconds since the start of the attempt."`
	CostUSD   float64          `json:"cost_usd" doc:"Model cost of the attempt so far in USD; 0 also if unknown."`
	Tokens    int64            `json:"tokens" doc:"Tokens of the model that the attempt has used so far."`
	BudgetUSD float64          `json:"budget_usd,omitempty" doc:"Budget of the task in USD. Absent: none."`
	Counts    map[string]int64 `json:"counts,omitempty" doc:"Stored events of the whole attempt by event type. Absent: none."`

	// [Subject.Read] fills the fields below. Events are oldest first, without heartbeats.
	Events []Event `json:"-"`
	Beat   *Beat   `json:"beat,omitempty" doc:"Newest heartbeat of the agent. Absent: none was read."`
	Seen   Seen    `json:"seen" doc:"Range of the events that were read."`
}

// Seen is the range of events behind an analysis. Stored events never change, so the rules return the same analysis for
// the same range and moment.
type Seen struct {
	First int64 `json:"first" doc:"Sequence of the first event. 0: no event."`
	Last  int64 `json:"last" doc:"Sequence of the last event. 0: no event."`
	Count int   `json:"count" doc:"Number of events, without all heartbeats but the newest."`
}

// Beat is the newest heartbeat.
type Beat struct {
	Sequence int64         `json:"sequence" doc:"Sequence of the heartbeat among the events."`
	Age      time.Duration `json:"age" doc:"Nanoseconds since the heartbeat."`
	Status   string        `json:"status" doc:"State that the agent reports, for example running or waiting."`
	Tool     string        `json:"tool,omitempty" doc:"Name of the tool call in progress. Absent: none."`
	ToolAge  time.Duration `json:"tool_age,omitempty" doc:"Nanoseconds since that tool call began. Absent: no call."`
}

// Event is the part of a stored event that the rules use. Texts are cut.
type Event struct {
	Sequence int64         `json:"sequence"`
	Type     string        `json:"type"`
	Age      time.Duration `json:"age"`

	Call    string `json:"call,omitempty"` // ID that joins the use, result and edits of a tool call
	Tool    string `json:"tool,omitempty"`
	Input   uint64 `json:"input,omitempty"`   // digest of the tool's input
	Command string `json:"command,omitempty"` // of a shell tool, cut
	Path    string `json:"path,omitempty"`    // as reported; relative inside of the workspace
	Text    string `json:"text,omitempty"`    // message, answer or error

	commands []shellcmd.Command // of a shell tool; nil: unknown
	check    string             // the tests that the commands run; empty: none that are known
	numbers  []float64          // of the answer

	Failed bool          `json:"failed,omitempty"` // the tool returned an error
	Result uint64        `json:"result,omitempty"` // digest of the answer without volatile parts and numbers
	Error  string        `json:"error,omitempty"`  // error text without locations and volatile parts
	Took   time.Duration `json:"took,omitempty"`
	Tests  *TestRun      `json:"tests,omitempty"`
	Edit   *Edit         `json:"edit,omitempty"`

	CostUSD float64 `json:"cost_usd,omitempty"` // total so far
	Tokens  int64   `json:"tokens,omitempty"`   // total so far
	Success bool    `json:"success,omitempty"`  // of a completion
	Stop    string  `json:"stop,omitempty"`     // why a model or an agent stopped
	Sender  string  `json:"sender,omitempty"`   // user, guardian, system or program
}

// TestRun is the result of one test run.
type TestRun struct {
	Passed  bool   `json:"passed"`
	Failing int    `json:"failing,omitempty"` // number of failed tests that the output names
	Which   uint64 `json:"which,omitempty"`   // digest of the failures
	Output  string `json:"output,omitempty"`  // of a failed run: end of the output
}

// Edit is a change of one file.
type Edit struct {
	Change  string `json:"change"` // created, modified, deleted or renamed
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Plus    uint64 `json:"plus,omitempty"`  // digest of the added lines
	Minus   uint64 `json:"minus,omitempty"` // digest of the removed lines
	judges  bool   // of a file by which tests judge
	diff    string // unified; empty: unknown
}

// Verdict is the result of an analysis.
type Verdict string

// The verdicts.
const (
	Healthy Verdict = "healthy" // a model approves the work, and no rule objects
	Steer   Verdict = "steer"   // the agent needs steering
	Unknown Verdict = "unknown" // neither a rule nor a model decided
)

// Source is what gave a verdict.
type Source string

// The sources: rules, a model, or neither.
const (
	ByRules Source = "rules"
	ByModel Source = "model"
	ByNone  Source = "none"
)

// Kinds of steering, as in OmoiOS.
const (
	Guidance   = "guidance"   // a hint
	Correction = "correction" // something must be undone
	Emergency  = "emergency"  // the agent must stop now
)

// Analysis is the stored result of one analysis of an attempt.
type Analysis struct {
	SpokenBy       Source   `json:"spoken_by" doc:"What gave the verdict: rules, model or none."`
	Verdict        Verdict  `json:"verdict" doc:"healthy (a model approves), steer (a fault was found) or unknown (neither)."`
	AlignmentScore *float64 `json:"alignment_score" doc:"How well the work serves its goal, 0 to 1. Null: neither a rule nor a model gave a score."`
	NeedsSteering  bool     `json:"needs_steering" doc:"True if the verdict is steer."`
	SteeringType   string   `json:"steering_type,omitempty" doc:"guidance, correction or emergency. Absent: no steering is advised."`
	Recommendation string   `json:"recommendation,omitempty" doc:"Message that would help the agent. Absent: none."`
	Summary        string   `json:"summary" doc:"One or two sentences about what the agent has done."`
	CurrentFocus   string   `json:"current_focus" doc:"Short text: what the agent works on now."`
	Confidence     float64  `json:"confidence" doc:"Confidence in the verdict, 0 to 1; 0 if the verdict is unknown."`

	Findings []Finding `json:"findings" doc:"Rules that matched, strongest first, also those too weak to steer."`
	Evidence []int64   `json:"evidence" doc:"Sequences of the events that support the verdict."`
	Model    *Opinion  `json:"model,omitempty" doc:"Opinion of the model, also where a rule decided. Absent: no model gave one."`
	Trouble  string    `json:"trouble,omitempty" doc:"Why a model that was asked gave no opinion. Absent: it gave one, or none was asked."`
	Use      ModelUse  `json:"model_use,omitzero" doc:"Calls of the model and their cost. Absent: no call."`
	Context  Context   `json:"context" doc:"The trajectory of the agent in short."`
	Seen     Seen      `json:"seen" doc:"Range of the events that were read."`
}

// Finding is the match of one rule.
type Finding struct {
	Rule       string  `json:"rule" doc:"Name of the rule; docs/GUARDIAN-RULES.md lists the rules."`
	Label      Label   `json:"label" doc:"Kind of fault, for example loop, drift, stuck, failing, idle or cheating."`
	Why        string  `json:"why" doc:"One sentence with the numbers that the rule compared."`
	Advice     string  `json:"advice" doc:"Message that would help the agent."`
	Type       string  `json:"steering_type" doc:"guidance, correction or emergency, by the severity of the fault."`
	Confidence float64 `json:"confidence" doc:"Confidence of the rule, 0 to 1."`
	Evidence   []int64 `json:"evidence" doc:"Sequences of the events that support the finding."`
}

// Label is a kind of trajectory.
type Label string

// The labels.
const (
	LabelHealthy   Label = "healthy"
	LabelLoop      Label = "loop"
	LabelDrift     Label = "drift"
	LabelStuck     Label = "stuck"
	LabelFailing   Label = "failing"
	LabelIdle      Label = "idle"
	LabelCheating  Label = "cheating"
	LabelDuplicate Label = "duplicate"
)

// Labels returns the labels that a single trajectory can have.
func Labels() []Label {
	return []Label{LabelHealthy, LabelLoop, LabelDrift, LabelStuck, LabelFailing, LabelIdle, LabelCheating}
}

// Opinion is the result that a model returned.
type Opinion struct {
	Model          string  `json:"model" doc:"Name of the model that was called."`
	Aligned        bool    `json:"trajectory_aligned" doc:"True: the work serves its goal."`
	AlignmentScore float64 `json:"alignment_score" doc:"How well the work serves its goal, 0 to 1."`
	NeedsSteering  bool    `json:"needs_steering" doc:"True: the model advises steering."`
	SteeringType   string  `json:"steering_type,omitempty" doc:"guidance, correction or emergency. Absent: no steering is advised."`
	Label          Label   `json:"label" doc:"Kind of trajectory, for example healthy, loop or drift."`
	Recommendation string  `json:"recommendation,omitempty" doc:"Message that would help the agent. Absent: none."`
	Summary        string  `json:"summary" doc:"One or two sentences about what the agent has done."`
	CurrentFocus   string  `json:"current_focus" doc:"Short text: what the agent works on now."`
	Confidence     float64 `json:"confidence" doc:"Confidence of the model, 0 to 1."`
	Evidence       []int64 `json:"evidence" doc:"Sequences of the events that the model named."`
}

// ModelUse is the usage of model calls.
type ModelUse struct {
	Calls        int     `json:"calls" doc:"Number of requests to the model."`
	InputTokens  int64   `json:"input_tokens" doc:"Tokens sent to the model."`
	OutputTokens int64   `json:"output_tokens" doc:"Tokens that the model wrote."`
	CostUSD      float64 `json:"cost_usd" doc:"Cost of the calls in USD; 0 also if the price is unknown."`
}

// Context summarizes the trajectory for users and for the model.
type Context struct {
	Goal         string   `json:"goal" doc:"What the task asks for, in short."`
	Constraints  []string `json:"constraints" doc:"Sentences of the task contract that limit the work."`
	Instructions []string `json:"instructions" doc:"Messages of users during the attempt, newest last."`
	Focus        string   `json:"focus" doc:"Short text: what the agent works on now."`
	Attempt      int      `json:"attempt" doc:"Number of the attempt in its task, from 1."`
	Approaches   []string `json:"attempted_approaches" doc:"What the agent tried and what failed, newest last."`
	Blockers     []string `json:"blockers" doc:"Errors that the agent has not overcome."`
	Phase        string   `json:"phase" doc:"Phase of the work, by the task or by what the agent does."`

	Age         time.Duration `json:"age" doc:"Nanoseconds since the start of the attempt."`
	SinceWork   time.Duration `json:"since_work" doc:"Nanoseconds since the last event that shows work."`
	SinceChange time.Duration `json:"since_change" doc:"Nanoseconds since the last change of a file; the age of the attempt if there was none."`
	Events      int64         `json:"events" doc:"Number of events of the attempt."`
	Calls       int64         `json:"tool_calls" doc:"Number of tool calls of the attempt."`
	Edits       int64         `json:"edits" doc:"Number of file changes of the attempt."`
	Errors      int           `json:"errors" doc:"Number of failed tool calls among the events that were read."`
	CostUSD     float64       `json:"cost_usd" doc:"Model cost of the attempt so far in USD; 0 also if unknown."`
	Tokens      int64         `json:"tokens" doc:"Tokens of the model that the attempt has used so far."`
}

// Model analyzes a subject with a language model; rules is the analysis of the rules. Judge returns the opinion in
// Analysis.Model. Analysis.Use is set with an error too.
type Model interface {
	Judge(ctx context.Context, s Subject, rules Analysis) (Analysis, error)
}

// TaskText is the text of a task, without secrets.
type TaskText struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	TaskType    string `json:"task_type,omitempty"`
	Mode        string `json:"mode,omitempty"`
}

// Proposal is the task contract that a model proposes.
type Proposal struct {
	Contract taskcontract.Contract
	Model    string // name of the model
	Use      ModelUse
}

// ErrAnswer is the error of a model whose answer is invalid, also after corrections.
var ErrAnswer = errors.New("the model's answer does not match the form")

// Proposer proposes a task contract. The error is or wraps [ErrAnswer] if the model answered; Proposal.Model and
// Proposal.Use are set then too.
type Proposer interface {
	Propose(ctx context.Context, t TaskText) (Proposal, error)
}

// Said is a stored message of a user that the agent has acknowledged.
type Said struct {
	ID   string `json:"id" doc:"UUID of the message."`
	Text string `json:"text" doc:"Beginning of the message, without secrets."`
	// Allows is the ID of the refusal whose call the message allows once.
	Allows string `json:"allows,omitempty" doc:"The refusal whose tool call the message allows once. Absent: none."`
}
