package postgres

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// forking is a fork in the transaction that creates its task.
type forking struct {
	q      *db.Queries
	source db.Task
	from   checkpoint.Checkpoint
	chain  []checkpoint.Checkpoint // with their packs, from has all its objects
}

// openFork reads the task and the checkpoint with which a fork begins; nil: the task is not a fork. Errors: [task.CodeNotFound] if one
// of them does not exist; [task.CodeGone] if a part of the checkpoint was deleted.
func openFork(ctx context.Context, q *db.Queries, d task.NewTask) (*forking, error) {
	if d.Fork == nil {
		return nil, nil //nolint:nilnil // not a fork
	}
	id, err := checkpoint.ParseID(d.Fork.Checkpoint)
	if err != nil {
		return nil, err
	}
	row, err := q.ReadTask(ctx, d.OrganizationID, d.Fork.TaskID)
	if err != nil {
		return nil, missing(translate("read the task", err), "There is no task %s.", d.Fork.TaskID)
	}
	f := &forking{q: q, source: row.Task}
	if f.from, err = taskCheckpoint(ctx, q, f.source.ID, id); err != nil {
		return nil, err
	}
	f.chain, err = checkpointChain(ctx, q, f.source.ID, f.from)
	return f, err
}

// describe completes the row of the fork. The branch of the fork starts where that of the source was when the attempt began, because the
// packs need this commit.
func (f *forking) describe(ctx context.Context, d task.NewTask, p *db.InsertTaskParams) error {
	if f == nil {
		return nil
	}
	commits, err := checkpointCommits(ctx, f.q, f.source.ID, checkpoint.ID{Attempt: f.from.Attempt, Number: f.from.Number})
	if err != nil {
		return err
	}
	branches := slices.Clone(f.source.EarlierBranches)
	if earlier := forkedFrom(f.source.ForkedFrom); earlier != nil {
		branches = slices.Concat(earlier.Branches, branches)
	}
	if f.source.BranchName != nil {
		p.BaseCommit, branches = orNull(commits.Branch), append(branches, *f.source.BranchName)
	}
	p.ForkedFrom = jsonOf(task.ForkedFrom{TaskID: f.source.ID, TaskKey: f.source.Key, Checkpoint: f.from.ID, Branches: orEmpty(branches)})
	p.ExecutionConfig = forkedConfig(f.source, d)
	return nil
}

// forkedConfig returns the execution config of the source with the variables of the fork, which is no candidate. Another agent does not get the model of the
// source.
func forkedConfig(source db.Task, d task.NewTask) json.RawMessage {
	config := readObject(candidate.Unmark(source.ExecutionConfig))
	env, own := map[string]string{}, map[string]string{}
	_ = json.Unmarshal(config["env"], &env) // checked when the source was created
	_ = json.Unmarshal(readObject(d.Execution)["env"], &own)
	if d.Agent != source.Agent {
		delete(env, "MODEL")
	}
	maps.Copy(env, own)
	if len(env) > 0 || config["env"] != nil {
		config.set("env", env)
	}
	return jsonOf(config)
}

// copyTo copies checkpoint and session to the fork, so that it does not depend on its source. An agent of another runtime gets no
// session.
func (f *forking) copyTo(ctx context.Context, taskID, agent string) error {
	if f == nil {
		return nil
	}
	if err := f.q.CopyContract(ctx, taskID, f.source.ID); err != nil {
		return err
	}
	run, packs, numbers := "", int64(0), []int{}
	if agent == f.source.Agent && f.from.RunID != "" {
		run = "fork-" + taskID
		if err := f.q.CopyTranscript(ctx, db.CopyTranscriptParams{
			Run: run, SourceRun: f.from.RunID, TaskID: taskID, Size: f.from.Transcript, SourceID: f.source.ID,
		}); err != nil {
			return err
		}
	}
	for _, c := range f.chain {
		packs, numbers = packs+c.PackBytes, append(numbers, c.Number)
	}
	copied, err := f.q.CopyCheckpoints(ctx, db.CopyCheckpointsParams{
		SourceID: f.source.ID, Attempt: f.from.Attempt, Numbers: numbers, TaskID: taskID, SourceRun: f.from.RunID, Run: run,
	})
	if err == nil && copied != packs { // retention, or the limit of the source
		err = incompleteChain(f.source.ID, f.from)
	}
	return err
}
