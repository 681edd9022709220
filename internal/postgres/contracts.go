package postgres

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// mostVersions is the number of versions of a task contract that are read.
const mostVersions = 20

// TaskContract returns the contract of a task with its newest versions.
func (s *Store) TaskContract(ctx context.Context, organizationID, id string) (client.TaskContract, error) {
	of, err := s.q.TaskForContract(ctx, organizationID, id)
	if err != nil {
		return client.TaskContract{}, missing(translate("read task "+id, err), "There is no task %s.", id)
	}
	rows, err := s.q.ContractVersions(ctx, id, mostVersions)
	out := client.TaskContract{TaskID: id, Versions: make([]taskcontract.Version, 0, len(rows))}
	for _, row := range rows {
		v := taskcontract.Version{Number: row.Version, Author: row.Author, Name: row.AuthorName, Accepted: row.Accepted, CreatedAt: row.CreatedAt.UTC()}
		err = cmp.Or(err, json.Unmarshal(row.Contract, &v.Contract))
		out.Versions = append(out.Versions, v)
	}
	execution := redact.Execution(s.openEnv(organizationID, of.ExecutionConfig))
	out.InForce = taskcontract.Of(out.Newest(), execution, of.Settings)
	out.Text = taskcontract.Own(out.Newest(), execution).YAML()
	return out, translate("read the contract of task "+id, err)
}

// SetTaskContract stores another version of a task's contract, which is accepted. [task.CodeConflict] if the task has ended, or if its
// newest version is not the one that was read.
func (s *Store) SetTaskContract(ctx context.Context, c taskcontract.Change) (client.TaskContract, error) {
	id := c.TaskID
	err := s.inTx(ctx, func(q *db.Queries) error {
		status, err := q.LockTaskForContract(ctx, c.OrganizationID, id)
		if err != nil {
			return missing(err, "There is no task %s.", id)
		}
		if task.Status(status).Final() {
			return task.Errorf(task.CodeConflict, "Task %s is %s: its contract is fixed. Next: omoi retry %s, then change the contract", id, status, id)
		}
		row := byUser(id, c.Sender, jsonOf(c.Contract))
		row.Read = c.Read
		stored, err := q.InsertContract(ctx, row)
		if err == nil && stored == 0 {
			err = task.Errorf(task.CodeConflict, "The contract of task %s has changed since version %d. Next: omoi contract %s", id, *c.Read, id)
		}
		return err
	})
	if err != nil {
		return client.TaskContract{}, translate("store the contract of task "+id, err)
	}
	return s.TaskContract(ctx, c.OrganizationID, id)
}

func byUser(taskID, sender string, contract json.RawMessage) db.InsertContractParams {
	return db.InsertContractParams{TaskID: taskID, Contract: contract, Author: taskcontract.ByUser, AuthorName: sender, Accepted: true}
}

// firstContract stores the contract with which a task is created.
func firstContract(ctx context.Context, q *db.Queries, d task.NewTask, taskID string) error {
	if d.Contract == nil {
		return nil
	}
	_, err := q.InsertContract(ctx, byUser(taskID, d.Sender, d.Contract))
	return err
}

// ProposeContract stores what a model proposes for a task, unless the task has a contract or has ended.
func (s *Store) ProposeContract(ctx context.Context, taskID, model string, c taskcontract.Contract) error {
	err := s.q.ProposeContract(ctx, db.ProposeContractParams{TaskID: taskID, Model: model, Contract: jsonOf(c)})
	return translate("store the proposed contract of task "+taskID, err)
}

// agreed adds the task contract to the work of an agent, with its accepted test command.
func agreed(work *task.Work, row db.WorkRow) error {
	var newest *taskcontract.Version
	if err := json.Unmarshal(row.Contract, &newest); err != nil {
		return err
	}
	c := taskcontract.Of(newest, row.Task.ExecutionConfig, row.Settings)
	work.Contract, work.Execution.TestCommand, work.AcceptedContract = c.Prompt(), c.Accepted.TestCommand, jsonOf(c.Accepted)
	work.TestsFixed = c.Accepted.TestsMayChange != nil && !*c.Accepted.TestsMayChange
	return nil
}
