package taskcmd

import (
	"context"
	"errors"
	"strings"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// aliveBox resolves what a person typed for a sandbox: its id or a part of it, or its task.
func aliveBox(ctx context.Context, api *client.Client, boxes []client.Sandbox, ref string) (client.Sandbox, error) {
	box, err := findBox(boxes, ref)
	if task.CodeOf(err) != task.CodeNotFound {
		return box, err
	}
	id, taskErr := findTask(ctx, api, ref)
	switch {
	case taskErr == nil:
		return boxOfTask(boxes, id)
	case ref == "-", errors.Is(taskErr, errAmbiguous), task.CodeOf(taskErr) == task.CodeUnavailable:
		return box, taskErr
	}
	return box, err
}

// boxOfTask is the newest sandbox of a task.
func boxOfTask(boxes []client.Sandbox, id string) (found client.Sandbox, err error) {
	for _, b := range boxes {
		if b.TaskID == id && b.Attempt >= found.Attempt {
			found = b
		}
	}
	if found.ID == "" {
		return found, task.Errorf(task.CodeNotFound, "Task %s has no sandbox that is alive. Next: omoi receipt %s", render.Short(id), render.Short(id))
	}
	return found, nil
}

// findBox resolves an id or a part of it.
func findBox(boxes []client.Sandbox, ref string) (client.Sandbox, error) {
	part := strings.TrimPrefix(strings.ToLower(ref), task.SandboxNamePrefix)
	var found []client.Sandbox
	for _, b := range boxes {
		if b.ID == part {
			return b, nil
		}
		if len(part) >= minFragment && partOf(b.ID, part) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 0:
		return client.Sandbox{}, task.Errorf(task.CodeNotFound, "No sandbox that is alive, and no task, begins or ends with %q (4 or more characters). Next: omoi sandboxes", ref)
	case 1:
		return found[0], nil
	}
	return client.Sandbox{}, exit.Usagef("%q fits %d sandboxes; give more of the id (omoi sandboxes lists them)", ref, len(found))
}
