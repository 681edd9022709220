package api

import (
	"context"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const maxRounds = 10

// judgeTask accepts a user's verdict on the work of a task.
func (a *API) judgeTask(ctx context.Context, in *changeIn[client.ReviewRequest]) (*madeOut[client.CommandResult], error) {
	said := in.Body
	if err := checkVerdict(said); err != nil {
		return nil, err
	}
	args, err := wireArgs(map[string]any{
		"ok": said.Passed, "passed": said.Passed, "feedback": said.Feedback, "recommendations": said.Recommendations,
	})
	if err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	return a.askAndWait(ctx, task.CommandRequest{
		OrganizationID: who.organization, TaskID: in.ID, Kind: task.CommandVerdict, OK: said.Passed, Sender: who.name,
		Args: args,
	})
}

// checkVerdict rejects an invalid text, and a negative verdict without a text.
func checkVerdict(said client.ReviewRequest) error {
	if err := checkText("feedback", said.Feedback, maxDescription); err != nil {
		return err
	}
	if err := checkText("recommendations", strings.Join(said.Recommendations, "\n"), maxDescription); err != nil {
		return err
	}
	if !said.Passed && strings.TrimSpace(said.Feedback) == "" {
		return task.Invalid("feedback", "Missing feedback: a review that does not pass says what the next attempt must change.")
	}
	return nil
}

// draftValidation sets whether the work is validated, by the request and the task type, and checks that its validator
// has all that it needs.
func (a *API) draftValidation(d *task.NewTask, in client.CreateTaskRequest, execution task.Execution) error {
	v := execution.Validator
	if v.Rounds < 0 || v.Rounds > maxRounds {
		return task.Invalid("execution_config.validator.rounds",
			"Invalid execution_config.validator.rounds %d: must be 1 to %d.", v.Rounds, maxRounds)
	}
	rounds := v.Rounds
	if rounds == 0 {
		rounds = a.cfg.ValidationRounds
	}
	wrong := a.checkValidator(d, v)
	d.Validation = task.NewValidation{
		Asked: in.Validate, ByType: slices.Contains(a.cfg.ValidatedTypes, d.TaskType), Able: wrong == nil, Rounds: rounds,
	}
	switch {
	case in.Validate == nil || !*in.Validate:
		return nil
	case d.Mode != modeImplementation:
		return task.Invalid("validate", "Cannot validate a task in mode %s: a validator reviews a branch, and only "+
			"tasks in mode implementation change theirs.", d.Mode)
	}
	return wrong
}

// checkValidator returns an error if the agent of the validator is not configured completely.
func (a *API) checkValidator(d *task.NewTask, v task.Validator) error {
	agent := v.Agent
	if agent == "" {
		agent = d.Agent
	}
	if _, err := oneOf("execution_config.validator.agent", v.Agent, "", task.RuntimeNames()); err != nil {
		return err
	}
	switch runtime := task.RuntimeOf(agent); {
	case runtime.SelfConnecting != task.RuntimeOf(d.Agent).SelfConnecting:
		return task.Invalid("execution_config.validator.agent",
			"Invalid validator: the agent of the task and the validator must both be external, or neither. Next: set execution_config.validator.agent accordingly.")
	case runtime.Input == task.InputScript && len(v.Script) == 0:
		return task.Invalid("execution_config.validator.script", "Missing execution_config.validator.script: a scripted "+
			"validator needs a script with a verdict step. Next: omoi run --validator-script <file> (docs/VALIDATION.md)")
	}
	return a.checkInput(agent, "execution_config.validator.", v.Script, v.Command)
}
