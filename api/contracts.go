package api

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Contracts stores task contracts.
type Contracts interface {
	TaskContract(ctx context.Context, organizationID, id string) (client.TaskContract, error)
	SetTaskContract(ctx context.Context, c taskcontract.Change) (client.TaskContract, error)
}

func (a *API) registerContracts() {
	g := a.group(tagTasks, "/api/v1/tasks/{id}/contract")
	add(g.on(accessRead, "GET", "get-task-contract", "Get a task contract"), read(a.deps.Contracts.TaskContract),
		details{more: "What the task may change and run, and what shows that it is done."})
	add(g.on(accessWrite, "PUT", "set-task-contract", "Replace a task contract"), a.setContract, details{
		more: "Stores a version that counts as accepted, also to accept what a model proposed. The settings of the project stay. " +
			"409 if the task has ended, or if version is not the newest one. A running agent is not told.",
	})
}

func (a *API) setContract(ctx context.Context, in *changeIn[client.SetContractRequest]) (*bodyOut[client.TaskContract], error) {
	c, err := parseContract(in.Body.Contract)
	if err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	defer a.deps.Bus.Wake(live.Task(in.ID))
	return body(a.deps.Contracts.SetTaskContract(ctx, taskcontract.Change{
		OrganizationID: who.organization, TaskID: in.ID, Sender: who.name, Contract: c, Read: in.Body.Version,
	}))
}

// draftContract sets the contract of a new task, if the request has one.
func draftContract(d *task.NewTask, text string) error {
	if text == "" {
		return nil
	}
	c, err := parseContract(text)
	if err == nil {
		d.Contract, err = json.Marshal(c)
	}
	return err
}

func parseContract(text string) (taskcontract.Contract, error) {
	c, err := taskcontract.Parse(text)
	if err != nil {
		return c, task.Invalid("contract", "Invalid task contract: %s.", err)
	}
	return c, nil
}
