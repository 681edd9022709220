package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// sandboxTask returns the task whose attempt runs or ran in the sandbox.
func (a *API) sandboxTask(ctx context.Context, in *SandboxPath) (*bodyOut[client.SandboxTask], error) {
	organization, taskID, err := a.deps.Identities.SandboxOwner(ctx, in.SandboxID)
	if err != nil && task.CodeOf(err) != task.CodeNotFound {
		return nil, err
	}
	if taskID == "" {
		return nil, task.Errorf(task.CodeNotFound, "No task found for sandbox %s.", in.SandboxID)
	}
	t, err := a.deps.Tasks.Task(ctx, organization, taskID)
	if err != nil {
		return nil, err
	}
	feedback, recommendations := revision(t.Result)
	return body(client.SandboxTask{
		ID: t.ID, TicketID: t.TicketID, PhaseID: t.PhaseID, TaskType: t.TaskType, Title: t.Title, Description: t.Description,
		Priority: t.Priority, Status: string(t.Status), SandboxID: in.SandboxID, AssignedAgentID: t.AssignedAgent,
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, StartedAt: t.StartedAt, CompletedAt: t.CompletedAt,
		RevisionFeedback: feedback, RevisionRecommendations: recommendations,
	}, nil)
}

// revision returns the feedback and recommendations of the last verdict on a task.
func revision(result json.RawMessage) (feedback string, recommendations []string) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(result, &fields) // written by omoi; missing fields stay empty
	recommendations = []string{}
	if string(fields["validation_passed"]) != "false" {
		return "", recommendations
	}
	_ = json.Unmarshal(fields["revision_feedback"], &feedback)
	if err := json.Unmarshal(fields["revision_recommendations"], &recommendations); err != nil || recommendations == nil {
		recommendations = []string{}
	}
	return feedback, recommendations
}

// taskComplete handles the explicit completion: the response shows what was accepted, and the completion is handled
// like any other command.
func (a *API) taskComplete(ctx context.Context, in *sandboxRawIn) (*bodyOut[client.TaskCompleted], error) {
	var said client.TaskComplete
	if err := decode(token.Hide(in.RawBody), &said); err != nil {
		return nil, err
	}
	if _, err := checkObject("result", said.Result); err != nil {
		return nil, err
	}
	success := said.Success == nil || *said.Success
	args := map[string]any{
		"ok": success, "success": success, "reason": said.ErrorMessage, "result": said.Result, "sandbox_id": in.SandboxID,
	}
	asked, err := a.askWire(ctx, in.SandboxID, task.CommandRequest{
		TaskID: said.TaskID, Kind: task.CommandComplete, OK: success, Reason: said.ErrorMessage,
	}, args)
	if err != nil {
		return nil, err
	}
	return body(client.TaskCompleted{
		Status: "accepted", TaskID: said.TaskID, NewStatus: string(asked.Status), UnblockedTasks: orNone(asked.Unblocked),
		CommandID: asked.Command.ID, Receipt: asked.Command.State,
	}, nil)
}

type sandboxRawIn struct {
	SandboxPath
	RawBody []byte `contentType:"application/json"`
}

// validationResult accepts the verdict of a validator.
func (a *API) validationResult(ctx context.Context, in *sandboxRawIn) (*bodyOut[client.VerdictAccepted], error) {
	var said client.Verdict
	if err := decode(token.Hide(in.RawBody), &said); err != nil {
		return nil, err
	}
	if said.Passed == nil {
		return nil, task.Invalid("passed", "Missing field passed: expected true or false.")
	}
	if said.Feedback == nil {
		return nil, task.Invalid("feedback", "Missing field feedback: expected a string.")
	}
	args := map[string]any{
		"ok": *said.Passed, "passed": *said.Passed, "feedback": *said.Feedback, "evidence": said.Evidence,
		"recommendations": said.Recommendations, "sandbox_id": in.SandboxID,
	}
	asked, err := a.askWire(ctx, in.SandboxID, task.CommandRequest{
		TaskID: said.TaskID, Kind: task.CommandVerdict, OK: *said.Passed,
	}, args)
	if err != nil {
		return nil, err
	}
	return body(client.VerdictAccepted{
		Status: "accepted", TaskID: said.TaskID, ValidationPassed: *said.Passed, NewTaskStatus: string(asked.Status),
		CommandID: asked.Command.ID, Receipt: asked.Command.State,
	}, nil)
}

// askWire accepts a command in legacy form, in which too late is not an error.
func (a *API) askWire(
	ctx context.Context, sandboxID string, ask task.CommandRequest, args map[string]any,
) (task.CommandResult, error) {
	if ask.TaskID == "" {
		return task.CommandResult{}, task.Invalid("task_id", "Missing field task_id: expected the ID of the task.")
	}
	who := callerOf(ctx)
	var err error
	if ask.TaskID, err = a.idOf(ctx, task.KeyedTask, ask.TaskID); err != nil {
		return task.CommandResult{}, err
	}
	if err := knownID("task", ask.TaskID); err != nil {
		return task.CommandResult{}, err
	}
	if ask.OrganizationID, err = a.organizationOf(ctx, who); err != nil {
		return task.CommandResult{}, err
	}
	if ask.Args, err = wireArgs(args); err != nil {
		return task.CommandResult{}, err
	}
	ask.SandboxID, ask.Sender, ask.Wire, ask.Own = sandboxID, who.name, true, who.sandbox != ""
	return a.deps.Commands.AskTask(ctx, ask)
}

func wireArgs(args map[string]any) (json.RawMessage, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the command: %w", err)
	}
	return checkObject("body", raw)
}

func orNone(ids []string) []string {
	if ids == nil {
		return []string{}
	}
	return ids
}

func (a *API) sandboxHealth(context.Context, *struct{}) (*bodyOut[client.SandboxHealth], error) {
	return body(client.SandboxHealth{Status: "ok", Service: "sandbox-api", Timestamp: time.Now().UTC()}, nil)
}
