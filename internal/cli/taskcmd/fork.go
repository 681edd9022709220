package taskcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newFork(s *session) *cobra.Command {
	var in client.ForkRequest
	r, at := &run{session: s}, ""
	cmd := s.taskVerb("fork <task> --at <checkpoint>", "Create a task from a checkpoint of another one", func(ctx context.Context, api *client.Client, t client.Task) error {
		return r.fork(ctx, api, t, at, in)
	})
	cmd.Long = `Create a task that begins with the files and the session of a checkpoint of another task, on a branch of its own. The other
task continues. The fork has the same settings and instructions; --text adds what is different.

` + checkpointWords("--at")
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "checkpoint, attempt, event, time or age")
	f.StringVar(&in.Text, "text", "", "what is different, for the agent")
	f.StringVar(&in.Agent, "agent", "", strings.Join(task.RuntimeNames(), ", ")+"; another agent starts a new session (default: that of the task)")
	f.StringVar(&in.Model, "model", "", "model for the agent (default: that of the task)")
	f.StringVar(&r.key, "idempotency-key", "", "requests with the same key create one task (default: a new key)")
	_ = cmd.MarkFlagRequired("at") // the flag exists
	cmd.PreRunE = func(*cobra.Command, []string) error {
		_, err := notAfter("--at", at, time.Now())
		return err
	}
	return cmd
}

func (r *run) fork(ctx context.Context, api *client.Client, t client.Task, at string, in client.ForkRequest) error {
	c, err := r.checkpointAt(ctx, api, t, "--at", at)
	if err != nil {
		return err
	}
	if in.Checkpoint = c.ID; r.key == "" {
		r.key = task.NewID()
	}
	fork, made, err := api.Fork(ctx, t.ID, in, r.key)
	if err != nil {
		return r.notCreated(err)
	}
	return r.made(ctx, api, fork, made)
}
