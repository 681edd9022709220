package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Parts of a task contract.
type (
	// Contract is one text of a task contract.
	Contract = taskcontract.Contract
	// ContractInForce is the contract of a task from all its sources.
	ContractInForce = taskcontract.InForce
	// ContractVersion is one stored version of a task's contract.
	ContractVersion = taskcontract.Version
)

// TaskContract returns the contract of a task.
func (c *Client) TaskContract(ctx context.Context, id string) (TaskContract, error) {
	return answer[TaskContract](ctx, c, call{path: item("tasks", id, "contract")})
}

// SetTaskContract stores another version of a task's contract, which is accepted.
func (c *Client) SetTaskContract(ctx context.Context, id string, in SetContractRequest) (TaskContract, error) {
	return answer[TaskContract](ctx, c, call{method: http.MethodPut, path: item("tasks", id, "contract"), body: in})
}

// SetContractRequest is the body of PUT /api/v1/tasks/{id}/contract.
type SetContractRequest struct {
	Contract string `json:"contract" doc:"The whole contract as YAML, of which JSON is a part, with keys of accepted. Empty: everything is unknown."`
	Version  *int   `json:"version,omitempty" minimum:"0" doc:"Newest version that the caller has read. 0: none. 409 if another one is the newest. Default: not compared."`
}

// TaskContract is the contract of a task.
type TaskContract struct {
	TaskID string `json:"task_id" doc:"UUID of the task to which the contract belongs."`
	taskcontract.InForce
	Text     string                 `json:"text" doc:"The task's own part as YAML, with what is proposed, and without the settings of the project. Empty: everything is unknown."`
	Versions []taskcontract.Version `json:"versions" nullable:"false" doc:"Newest 20 versions, newest first. Empty: the contract is in execution_config."`
}

// Newest returns the newest version; nil: none is stored.
func (c TaskContract) Newest() *taskcontract.Version {
	if len(c.Versions) == 0 {
		return nil
	}
	return &c.Versions[0]
}
