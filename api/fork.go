package api

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

type forkTaskIn struct {
	IDPath
	Key  string `header:"Idempotency-Key" doc:"The same key, task and body return the same fork; another body is refused with 409. At most 255 characters; default: no key."`
	Body client.ForkRequest
}

// forkTask creates a task that begins with a checkpoint of another one.
func (a *API) forkTask(ctx context.Context, in *forkTaskIn) (*madeOut[client.Task], error) {
	if _, err := checkpoint.ParseID(in.Body.Checkpoint); err != nil {
		return nil, err
	}
	source, err := a.readTask(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	request, err := forkRequest(source, in.Body)
	if err != nil {
		return nil, err
	}
	d, err := a.draft(ctx, request)
	if err != nil {
		return nil, err
	}
	if task.RuntimeOf(d.Agent).SelfConnecting {
		return nil, task.Invalid("agent", "Cannot fork to the agent %s: omoi prepares no workspace for an agent that connects by itself.", d.Agent)
	}
	d.Fork, d.Execution = &task.NewFork{TaskID: source.ID, Checkpoint: in.Body.Checkpoint}, nil
	if in.Body.Model != "" {
		if d.Execution, err = json.Marshal(task.Execution{Env: map[string]string{"MODEL": in.Body.Model}}); err != nil {
			return nil, err
		}
	}
	return a.submit(ctx, d, in.Key, struct {
		Fork string
		client.ForkRequest
	}{source.ID, in.Body}, a.deps.Tasks.AcceptTask)
}

// forkRequest returns the request that creates a task like another one. Its execution config is for checks only, since its
// variables are hidden; the store has the whole one.
func forkRequest(source client.Task, in client.ForkRequest) (client.CreateTaskRequest, error) {
	validate := source.Rounds > 0
	request := client.CreateTaskRequest{
		TicketID: source.TicketID, Title: source.Title, Description: source.Description, TaskType: source.TaskType,
		PhaseID: source.PhaseID, Priority: source.Priority, Mode: source.Mode, Agent: in.Agent, Provider: source.Provider,
		MaxRetries: &source.MaxRetries, Budget: &source.Budget, Validate: &validate, Execution: source.Execution,
	}
	if request.Agent == "" {
		request.Agent = source.Agent
	}
	if strings.TrimSpace(in.Text) != "" {
		request.Description += "\n\nWhat is different in this fork of " + source.Key + ":\n\n" + in.Text
	}
	if err := checkText("text", request.Description, maxDescription); err != nil {
		return request, err
	}
	if in.Model != "" {
		return request, checkTitle("model", in.Model)
	}
	return request, nil
}
