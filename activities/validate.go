package activities

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

// asGiven returns the task as the agent of its newest attempt gets it. A validator has a mode, a program and a script
// of its own, and runs once.
func asGiven(work task.Work) task.Work {
	if !work.Validates {
		return work
	}
	v := work.Execution.Validator
	work.Mode, work.Continuous = task.ModeValidation, false
	work.Agent = cmp.Or(v.Agent, work.Agent)
	work.Execution.Script, work.Execution.Command = v.Script, v.Command
	work.Execution.WaitForMessages, work.Execution.ReadsMessages = false, false
	return work
}

// validation returns the validation round for the agent; nil if the attempt does not validate.
func validation(work task.Work) *agentconfig.Validation {
	if !work.Validates {
		return nil
	}
	return &agentconfig.Validation{Round: work.Round, Rounds: max(work.Rounds, work.Round)}
}

// validatorEnv returns the environment variables with which a legacy worker validates.
func validatorEnv(work task.Work) map[string]string {
	if !work.Validates {
		return nil
	}
	return map[string]string{
		"AGENT_TYPE":           typeValidator,
		"VALIDATION_MODE":      "true",
		"VALIDATION_ITERATION": strconv.Itoa(work.Round),
		"ORIGINAL_TASK_ID":     work.TaskID,
		"ORIGINAL_SANDBOX_ID":  work.WorkSandbox,
		"INITIAL_PROMPT":       agentconfig.ValidatorPrompt(work.Title, work.Description, work.Contract, work.Feedback),
	}
}

const (
	typeValidator   = "validator"
	typeImplementer = "implementer"
)

// phaseEnv returns the variables of the ticket phase. Only the validator of a task validates.
func phaseEnv(phase Phase) map[string]string {
	env := map[string]string{"AGENT_TYPE": cmp.Or(phase.AgentType, typeImplementer)}
	if phase.Tools != "" {
		env["ALLOWED_TOOLS"] = phase.Tools
	}
	if phase.Prompt != "" {
		env["SYSTEM_PROMPT_APPEND"] = phase.Prompt
	}
	return env
}

// strict reports whether the work must be committed and pushed. Exploration and validation produce text only.
func strict(work task.Work) bool {
	return work.Mode != task.ModeExploration && work.Mode != task.ModeValidation && work.Repo != ""
}

// maxReviewWords limits the text of a validation round in a pull request.
const maxReviewWords = 1000

// reviewLines returns who validated the work, and the result of each round.
func reviewLines(t task.Task) string {
	var lines []string
	share := min(maxReviewWords, maxPullReviews/max(len(t.Reviews), 1))
	for _, r := range t.Reviews {
		lines = append(lines, "- "+agentText(strings.Join(strings.Fields(r.Words(t.Rounds)), " "), share)+whoseReview(r))
	}
	return strings.Join(lines, "\n")
}

func whoseReview(r task.Validation) string {
	if r.Attempt == 0 || r.SandboxID == "" {
		return ""
	}
	return fmt.Sprintf(" (attempt %d, sandbox `%s`)", r.Attempt, r.SandboxID)
}
