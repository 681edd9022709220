package taskcmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const boxArg = "one sandbox, or a task: its id, or 4 or more characters of it (omoi sandbox list --recent)"

// boxVerb returns a command about the sandbox, deleted ones included, that its only argument names.
func (s *session) boxVerb(use, short string, do func(context.Context, *client.Client, client.Sandbox) error) *cobra.Command {
	cmd := s.verb(use+" <sandbox>", short, exactly(1, boxArg), func(ctx context.Context, api *client.Client, args []string) error {
		box, err := anyBox(ctx, api, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, box)
	})
	cmd.ValidArgsFunction = s.completeTasks
	return cmd
}

// pickBox resolves an id or a part of it.
func pickBox(boxes []client.Sandbox, ref string) (client.Sandbox, error) {
	return kind[client.Sandbox]{noun: "sandbox", list: "omoi sandbox list --recent", id: func(b client.Sandbox) string { return b.ID }}.
		pick(boxes, strings.TrimPrefix(strings.ToLower(ref), task.SandboxNamePrefix))
}

// aliveBox resolves what a user typed for one of some sandboxes: its id or a part of it, or its task.
func aliveBox(ctx context.Context, api *client.Client, boxes []client.Sandbox, ref string) (found client.Sandbox, err error) {
	box, err := pickBox(boxes, ref)
	if task.CodeOf(err) != task.CodeNotFound {
		return box, err
	}
	id, taskErr := findTask(ctx, api, ref)
	switch {
	case ref == "-", errors.Is(taskErr, errAmbiguous), task.CodeOf(taskErr) == task.CodeUnavailable:
		err = taskErr
	case taskErr == nil:
		err = nil
	}
	if err != nil {
		return box, err
	}
	for _, b := range boxes {
		if b.TaskID == id && b.Attempt >= found.Attempt {
			found = b
		}
	}
	if found.ID == "" {
		return found, task.Errorf(task.CodeNotFound, "Task %s has no active sandbox. Next: omoi receipt %s", render.Short(id), render.Short(id))
	}
	return found, nil
}

// anyBox resolves what a user typed for a sandbox, also for a deleted one: its id or a part of it, or its task.
func anyBox(ctx context.Context, api *client.Client, ref string) (client.Sandbox, error) {
	if ref == "-" {
		return newestBox(ctx, api, ref)
	}
	if box, err := api.Sandbox(ctx, strings.TrimPrefix(strings.ToLower(ref), task.SandboxNamePrefix)); err == nil || task.CodeOf(err) != task.CodeNotFound {
		return box, err
	}
	boxes, err := allBoxes(ctx, api, client.SandboxFilter{})
	if err != nil {
		return client.Sandbox{}, err
	}
	box, err := pickBox(boxes, ref)
	if task.CodeOf(err) == task.CodeNotFound {
		return newestBox(ctx, api, ref)
	}
	return box, err
}

// newestBox is the newest sandbox of a task.
func newestBox(ctx context.Context, api *client.Client, ref string) (client.Sandbox, error) {
	id, err := findTask(ctx, api, ref)
	if code := task.CodeOf(err); code == task.CodeNotFound || exit.Code(err) == exit.Usage && ref != "-" {
		return client.Sandbox{}, task.Errorf(task.CodeNotFound, "No sandbox and no task begins or ends with %q. Next: omoi sandbox list --recent", ref)
	}
	if err != nil {
		return client.Sandbox{}, err
	}
	page, err := api.Sandboxes(ctx, client.SandboxFilter{TaskID: id, Limit: 1})
	if err == nil && len(page.Items) == 0 {
		err = task.Errorf(task.CodeNotFound, "Task %s has had no sandbox yet. Next: omoi why %s", render.Short(id), render.Short(id))
	}
	if err != nil {
		return client.Sandbox{}, err
	}
	return page.Items[0], nil
}
