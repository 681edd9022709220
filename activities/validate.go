package activities

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

// asGiven is the task as the agent of its newest attempt is given it: one that validates gets a
// mode, a program and a script of its own, and is done after one run.
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

// validation tells the agent that it validates, and in which round; nil: it does not.
func validation(work task.Work) *agentconfig.Validation {
	if !work.Validates {
		return nil
	}
	return &agentconfig.Validation{Round: work.Round, Rounds: max(work.Rounds, work.Round)}
}

// validatorEnv is what workers of the replaced system are told where they validate.
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
		"INITIAL_PROMPT":       agentconfig.ValidatorPrompt(work.Title, work.Description, work.Feedback),
	}
}

const (
	typeValidator   = "validator"
	typeImplementer = "implementer"
)

// phaseEnv is what the agent reads of its phase. Only who validates a task is a validator.
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

// strict reports whether the work has to be committed and pushed: words are all that is asked for
// where an agent explores or validates.
func strict(work task.Work) bool {
	return work.Mode != task.ModeExploration && work.Mode != task.ModeValidation && work.Repo != ""
}

// maxReviewWords bounds what a pull request quotes of a round.
const maxReviewWords = 1000

// reviewLines say who validated the work, and what became of each round.
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
