package client

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// ExecutionConfig holds the keys of execution_config that omoi reads; other keys are stored and ignored.
type ExecutionConfig struct {
	task.Execution

	// The task contract, as [taskcontract.Contract]; its test_command is that of Execution.
	Constraints       []string `json:"constraints,omitempty" doc:"Task contract: other limits in sentences, for agents and models. Default: none."`
	AllowedPaths      []string `json:"allowed_paths,omitempty" doc:"Task contract: patterns of the only paths that the agent may change. Default: unknown."`
	ForbiddenPaths    []string `json:"forbidden_paths,omitempty" doc:"Task contract: patterns of paths that the agent must not change. Default: unknown."`
	ForbiddenCommands []string `json:"forbidden_commands,omitempty" doc:"Task contract: beginnings of shell commands that the agent must not run. Default: unknown."`
	TestsMayChange    *bool    `json:"tests_may_change,omitempty" doc:"Task contract: whether the agent may change tests. Default: unknown."`
	ChangeWanted      *bool    `json:"change_wanted,omitempty" doc:"Task contract: whether the task asks for changes of files. Default: unknown."`

	Candidate *candidate.Choice `json:"candidate,omitempty" doc:"The task is one of a comparison, which POST /api/v1/comparisons creates; ignored in other requests. Default: it is not."`
}

// TaskResult holds the keys that omoi writes into the result of a task. An external program may add other keys, and use
// other types.
type TaskResult struct {
	Success         bool       `json:"success,omitempty" doc:"True once the task is completed."`
	Output          string     `json:"output,omitempty" doc:"Last message of the agent. Absent: none."`
	Turns           int64      `json:"turns,omitempty" doc:"Messages of the model in the last attempt. Absent: unknown."`
	CostUSD         *float64   `json:"cost_usd,omitempty" doc:"Model cost of the last attempt in USD. Absent: unknown."`
	SessionID       string     `json:"session_id,omitempty" doc:"Last session of the agent runtime. Absent: unknown."`
	StopReason      string     `json:"stop_reason,omitempty" doc:"Why the agent stopped, for example end_turn or validation_passed. Absent: unknown."`
	Branch          string     `json:"branch_name,omitempty" doc:"Branch with the work. Absent: none."`
	ChangedNothing  bool       `json:"changed_nothing,omitempty" doc:"True: the agent changed no file and made no commit."`
	Artifacts       []Artifact `json:"artifacts,omitempty" doc:"Published changes and passed tests. Absent: none."`
	Iteration       int        `json:"validation_iteration,omitempty" doc:"Number of verdicts so far. Absent: none."`
	Passed          *bool      `json:"validation_passed,omitempty" doc:"Latest verdict. Absent: no validation."`
	ValidationType  string     `json:"validation_type,omitempty" doc:"in_sandbox: the checks of continuous mode passed in the sandbox. Absent: they did not run."`
	ValidatedAt     *time.Time `json:"validated_at,omitempty" doc:"When a validator accepted the work. Absent: none did."`
	Feedback        string     `json:"revision_feedback,omitempty" doc:"What the latest verdict that asked for a revision found missing. Absent: none did."`
	Recommendations []string   `json:"revision_recommendations,omitempty" doc:"Changes that the verdict proposed. Absent: none."`
	Truncated       bool       `json:"truncated,omitempty" doc:"True, in lists only: fields of a result above 2 KiB are shortened."`
}

// Artifact is a result of a task: code changes, or tests that passed.
type Artifact struct {
	Type         string `json:"type" enum:"code_changes,test_coverage" doc:"code_changes: commits that were pushed; test_coverage: tests that passed. More values may be added."`
	HasTests     bool   `json:"has_tests" doc:"True: the tests of the changes passed."`
	AllPassed    bool   `json:"all_passed,omitempty" doc:"Always true, in test_coverage only."`
	Path         string `json:"path,omitempty" doc:"URL of the pull request. Absent: none."`
	Branch       string `json:"branch_name,omitempty" doc:"Branch with the changes. Absent: unknown."`
	FilesChanged int64  `json:"files_changed,omitempty" doc:"Files that the last attempt changed. Absent: unknown."`
	PullCreated  bool   `json:"pr_created,omitempty" doc:"True: the changes have a pull request."`
	PullURL      string `json:"pr_url,omitempty" doc:"URL of the pull request. Absent: none."`
	PullNumber   int    `json:"pr_number,omitempty" doc:"Number of the pull request. Absent: none."`
	Checks       any    `json:"checks,omitempty" doc:"State of the CI checks, in the form that a legacy worker reported. Absent: unknown."`
}

// ProjectSettings holds the keys of a project's settings that omoi reads; other keys are stored and ignored.
type ProjectSettings struct {
	Validate        bool   `json:"validate,omitempty" doc:"True: validate the work of tasks that do not say otherwise. Default: false."`
	CommitLeftovers *bool  `json:"commit_leftovers,omitempty" doc:"False: omoi does not commit what a successful agent leaves uncommitted. Default: true."`
	RepeatTests     *bool  `json:"repeat_tests,omitempty" doc:"False: omoi does not repeat the test command of a task at the end of its attempts. Default: true."`
	TestTimeoutS    int    `json:"test_timeout_seconds,omitempty" doc:"Time limit of one run of the test command in a repeat, 1 to 3600; all runs of a repeat share an hour. Default: 600."`
	ModelPrices     string `json:"model_prices,omitempty" doc:"Prices as model=input/output or model=input/output/cache_read/cache_write in USD per million tokens, comma-separated. Default: none."`
	AcceptContracts bool   `json:"accept_contracts,omitempty" doc:"True: task contracts that a model proposes count as accepted. Default: false."`

	taskcontract.Contract // of all tasks, in addition to their own
}

// SharedResources are the common resources of two tasks.
type SharedResources struct {
	Files []string `json:"files,omitempty" doc:"Paths that both tasks changed. Absent: none."`
}

// ActionAudit is what a guardian action changed. Its keys depend on the action_type.
type ActionAudit struct {
	Before           map[string]json.RawMessage `json:"before,omitempty" doc:"Values before the action, by the name of the field. Absent: none recorded."`
	After            map[string]json.RawMessage `json:"after,omitempty" doc:"Values after the action, by the name of the field. Absent: none recorded."`
	ClaimedBy        string                     `json:"claimed_to_be,omitempty" doc:"initiated_by of the request. Absent: not given, or the name of the caller."`
	OldStatus        string                     `json:"old_status,omitempty" doc:"Status of the task before the action; cancel_task only."`
	InterventionType string                     `json:"intervention_type,omitempty" doc:"Always emergency; cancel_task only."`
	OldPriority      string                     `json:"old_priority,omitempty" doc:"Priority before the action; override_priority only."`
	NewPriority      string                     `json:"new_priority,omitempty" doc:"Priority after the action; override_priority only."`
	Transferred      int                        `json:"capacity_transferred,omitempty" doc:"Number of slots of the concurrency limit that were moved from from_project to to_project; reallocate_capacity only."`
	FromProject      string                     `json:"from_project,omitempty" doc:"Project that gave the slots; reallocate_capacity only."`
	ToProject        string                     `json:"to_project,omitempty" doc:"Project that got the slots; reallocate_capacity only."`
	RevertedBy       string                     `json:"reverted_by,omitempty" doc:"Authenticated caller of the revert. Absent: not reverted."`
	RevertClaimedBy  string                     `json:"revert_claimed_to_be,omitempty" doc:"initiated_by of the request to revert. Absent: not reverted, not given, or the name of the caller."`
	RevertReason     string                     `json:"revert_reason,omitempty" doc:"Reason given in the request to revert. Absent: not reverted."`
	Undone           []string                   `json:"undone,omitempty" doc:"Sentences that say what the revert changed back. Absent: nothing, or not reverted."`
	NotUndone        []string                   `json:"not_undone,omitempty" doc:"Sentences that say what the revert could not change back. Absent: nothing, or not reverted."`
}
