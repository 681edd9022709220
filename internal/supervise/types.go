package supervise

import (
	"context"
	"time"
)

// Subject is one attempt of a task as the guardian sees it. Whoever builds it fills in the
// upper part from the store and calls [Subject.Read] with the newest events. All times are
// ages at the moment of judgement.
type Subject struct {
	TaskID    string `json:"task_id"`
	SandboxID string `json:"sandbox_id"`
	ProjectID string `json:"project_id,omitempty"`
	Attempt   int    `json:"attempt"` // number within the task, from 1

	Title       string `json:"title"`
	Description string `json:"description"` // what the agent was told to do
	TaskType    string `json:"task_type,omitempty"`
	Mode        string `json:"mode,omitempty"` // exploration, implementation or validation
	Phase       string `json:"phase,omitempty"`
	TestCommand string `json:"test_command,omitempty"`
	// WaitsForMessages is true of an agent that is meant to stay when its work is done.
	WaitsForMessages bool   `json:"waits_for_messages,omitempty"`
	Limits           Limits `json:"limits"` // see [LimitsOf]
	// Said is what people said to the agent. Its own events cannot vouch for that: they only tell when.
	Said []Said `json:"said,omitempty"`

	Age       time.Duration `json:"age"` // since the attempt's start
	CostUSD   float64       `json:"cost_usd"`
	Tokens    int64         `json:"tokens"`
	BudgetUSD float64       `json:"budget_usd,omitempty"` // of the task; 0: none
	// Counts are stored events by type, of the whole attempt; nil: count what was read.
	Counts map[string]int64 `json:"counts,omitempty"`

	// What [Subject.Read] fills in. Events are oldest first and without heartbeats.
	Events []Event `json:"events,omitempty"`
	Beat   *Beat   `json:"beat,omitempty"` // the newest sign of life; nil: none was read
	Seen   Seen    `json:"seen"`
}

// Seen is the stretch of events that a judgement rests on. Events never change, so the same
// stretch, read for the same moment, gives the same judgement of the rules again.
type Seen struct {
	First int64 `json:"first"` // sequence; 0: no event
	Last  int64 `json:"last"`
	Count int   `json:"count"`
}

// Limits are what the task forbids.
type Limits struct {
	Constraints []string `json:"constraints,omitempty"`        // sentences, for people and the model
	Paths       []string `json:"allowed_paths,omitempty"`      // patterns; none: everywhere
	NoPaths     []string `json:"forbidden_paths,omitempty"`    // patterns
	NoCommands  []string `json:"forbidden_commands,omitempty"` // beginnings of commands
}

// Beat is the newest heartbeat.
type Beat struct {
	Sequence int64         `json:"sequence"`
	Age      time.Duration `json:"age"`
	Status   string        `json:"status"`         // running, waiting, ...
	Tool     string        `json:"tool,omitempty"` // under way; empty: none
	ToolAge  time.Duration `json:"tool_age,omitempty"`
}

// Event is what the rules need of a stored event.
type Event struct {
	Sequence int64         `json:"sequence"`
	Type     string        `json:"type"`
	Age      time.Duration `json:"age"`

	Call    string `json:"call,omitempty"` // id that joins a tool's use, result and edits
	Tool    string `json:"tool,omitempty"`
	Input   uint64 `json:"input,omitempty"`   // digest of the tool's input
	Command string `json:"command,omitempty"` // of a shell, cut
	Path    string `json:"path,omitempty"`    // relative to the workspace where it lies in it
	Text    string `json:"text,omitempty"`    // what was said, answered or complained, cut

	Failed bool          `json:"failed,omitempty"` // the tool's answer is an error
	Result uint64        `json:"result,omitempty"` // digest of the answer without what changes by itself
	Error  string        `json:"error,omitempty"`  // what the error says, without places and times
	Took   time.Duration `json:"took,omitempty"`
	Tests  *TestRun      `json:"tests,omitempty"`
	Edit   *Edit         `json:"edit,omitempty"`

	CostUSD float64 `json:"cost_usd,omitempty"` // total so far
	Tokens  int64   `json:"tokens,omitempty"`   // total so far
	Success bool    `json:"success,omitempty"`  // of an end
	Sender  string  `json:"sender,omitempty"`   // kind of a message's sender: user, guardian, ...
}

// TestRun is what a run of tests came to.
type TestRun struct {
	Passed  bool   `json:"passed"`
	Failing int    `json:"failing,omitempty"` // tests that are known to fail
	Which   uint64 `json:"which,omitempty"`   // digest of what failed
}

// Edit is a change of one file.
type Edit struct {
	Change  string `json:"change"` // created, modified, deleted, renamed
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Plus    uint64 `json:"plus,omitempty"`  // digest of the added lines
	Minus   uint64 `json:"minus,omitempty"` // digest of the removed lines
	// Of a file with tests, what came (or went, if negative).
	TestFile bool `json:"test_file,omitempty"`
	Tests    int  `json:"tests,omitempty"`
	Checks   int  `json:"checks,omitempty"`
	Skips    int  `json:"skips,omitempty"`
}

// Verdict is what is thought of an attempt.
type Verdict string

// The verdicts.
const (
	Healthy Verdict = "healthy" // a model found the work to serve its goal, and no rule objects
	Steer   Verdict = "steer"   // somebody should step in
	Unknown Verdict = "unknown" // nobody can say
)

// Source is who gave a verdict.
type Source string

// The speakers.
const (
	ByRules Source = "rules"
	ByModel Source = "model"
	ByNone  Source = "none"
)

// Kinds of steering, in the words of the replaced system.
const (
	Guidance   = "guidance"   // a hint
	Correction = "correction" // what was done has to be undone
	Emergency  = "emergency"  // it must stop now
)

// Analysis is a judgement of one attempt.
type Analysis struct {
	SpokenBy Source  `json:"spoken_by"`
	Verdict  Verdict `json:"verdict"`
	// AlignmentScore is from 0 (works against its goal) to 1; nil where nobody can say.
	AlignmentScore *float64 `json:"alignment_score"`
	NeedsSteering  bool     `json:"needs_steering"`
	SteeringType   string   `json:"steering_type,omitempty"`
	Recommendation string   `json:"recommendation,omitempty"` // to the agent, as a message
	Summary        string   `json:"summary"`
	CurrentFocus   string   `json:"current_focus"`
	Confidence     float64  `json:"confidence"` // 0..1 in the verdict; 0 of unknown

	Findings []Finding `json:"findings"`           // of the rules, strongest first; also those too weak to steer
	Evidence []int64   `json:"evidence"`           // sequences of events
	Model    *Opinion  `json:"model,omitempty"`    // what a model said, also where a rule has decided
	Trouble  string    `json:"trouble,omitempty"`  // why no model spoke although one is there
	Use      ModelUse  `json:"model_use,omitzero"` // what asking cost
	Context  Context   `json:"context"`
	Seen     Seen      `json:"seen"`
}

// Finding is what one rule found.
type Finding struct {
	Rule       string  `json:"rule"`
	Label      Label   `json:"label"`
	Why        string  `json:"why"`    // one sentence with its numbers
	Advice     string  `json:"advice"` // to the agent
	Type       string  `json:"steering_type"`
	Confidence float64 `json:"confidence"`
	Evidence   []int64 `json:"evidence"`
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

// Labels are those that a single trajectory may have.
func Labels() []Label {
	return []Label{LabelHealthy, LabelLoop, LabelDrift, LabelStuck, LabelFailing, LabelIdle, LabelCheating}
}

// Opinion is what a model said.
type Opinion struct {
	Model          string  `json:"model"`
	Aligned        bool    `json:"trajectory_aligned"`
	AlignmentScore float64 `json:"alignment_score"`
	NeedsSteering  bool    `json:"needs_steering"`
	SteeringType   string  `json:"steering_type,omitempty"`
	Label          Label   `json:"label"`
	Recommendation string  `json:"recommendation,omitempty"`
	Summary        string  `json:"summary"`
	CurrentFocus   string  `json:"current_focus"`
	Confidence     float64 `json:"confidence"`
	Evidence       []int64 `json:"evidence"`
}

// ModelUse is what asking a model cost.
type ModelUse struct {
	Calls        int     `json:"calls"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"` // 0 where the price is not known
}

// Context is the trajectory in short, for people, for the model, and for who judges it again.
type Context struct {
	Goal         string   `json:"goal"`
	Constraints  []string `json:"constraints"`
	Lifted       []string `json:"lifted_constraints"` // taken back by a person's message
	Instructions []string `json:"instructions"`       // what people said on the way, newest last
	Focus        string   `json:"focus"`
	Attempt      int      `json:"attempt"`
	Approaches   []string `json:"attempted_approaches"` // what was tried and failed, newest last
	Blockers     []string `json:"blockers"`             // errors that were not overcome
	Phase        string   `json:"phase"`

	Age         time.Duration `json:"age"`
	SinceWork   time.Duration `json:"since_work"`
	SinceChange time.Duration `json:"since_change"` // of a file; the attempt's age if there was none
	Events      int64         `json:"events"`
	Calls       int64         `json:"tool_calls"`
	Edits       int64         `json:"edits"`
	Errors      int           `json:"errors"` // failed calls of what was read
	CostUSD     float64       `json:"cost_usd"`
	Tokens      int64         `json:"tokens"`
}

// Model judges a subject by understanding it. The analysis is what the rules said.
//
// It answers with the opinion in Model, and Use also beside an error.
type Model interface {
	Judge(ctx context.Context, s Subject, rules Analysis) (Analysis, error)
}

// Said is what a person said to an agent that has taken it up, as the store knows it.
type Said struct {
	ID   string `json:"id"`
	Text string `json:"text"` // its beginning
}
