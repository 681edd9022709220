package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	completionTime = 2 * time.Second
	uuidLength     = 36
	minFragment    = 4
)

// oneTask is the argument check of commands that work on one task.
func oneTask(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return exit.Usagef("%s takes one task: its id, 4 or more characters of its beginning or end, or - for the newest", cmd.CommandPath())
}

// noneOrOneTask is for commands that list what there is of a task, or of all.
func noneOrOneTask(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes one task, or none for all of them", cmd.CommandPath())
	}
	return nil
}

// partOf tells whether a person may mean an id: by its beginning, its end, or the beginning of what lists show of it.
func partOf(id, ref string) bool {
	return strings.HasPrefix(id, ref) || strings.HasSuffix(id, ref) || strings.HasPrefix(render.Short(id), ref)
}

// findTask resolves what a person typed for a task. An ambiguous fragment is a usage error that lists
// the candidates.
func findTask(ctx context.Context, api *client.Client, ref string) (string, error) {
	ref = strings.ToLower(strings.TrimSpace(ref))
	switch {
	case ref == "-":
		return lastTask(ctx, api)
	case len(ref) == uuidLength:
		return ref, nil
	case len(ref) < minFragment:
		return "", exit.Usagef("%q is too short for a task: give 4 or more characters of the id, or - for the newest", ref)
	case strings.Trim(ref, "0123456789abcdef-") != "":
		return "", exit.Usagef("%q is no task id: ids are made of 0-9, a-f and hyphens. Next: omoi ps", ref)
	}
	page, err := api.Tasks(ctx, client.TaskFilter{ID: ref, Limit: 6})
	switch {
	case err != nil:
		return "", err
	case len(page.Items) == 0:
		return "", noTask(ref)
	case len(page.Items) > 1:
		return "", ambiguous(ref, page.Items)
	}
	return page.Items[0].ID, nil
}

func lastTask(ctx context.Context, api *client.Client) (string, error) {
	page, err := newest(ctx, api, client.TaskFilter{}, 1, false)
	if err != nil {
		return "", err
	}
	if len(page.Items) == 0 {
		return "", task.Errorf(task.CodeNotFound, "There is no task yet. Next: omoi run \"Say hello\" --repo <path> --script example:hello")
	}
	return page.Items[0].ID, nil
}

var errAmbiguous = errors.New("fits more than one task")

func ambiguous(ref string, tasks []client.Task) error {
	var b strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&b, "\n  %s  %s", t.ID, render.OneLine(t.Title, 60))
	}
	return exit.Usagef("%q %w; give more of the id:%s", ref, errAmbiguous, b.String())
}

// taskOf finds the one task of a command line.
func (s *session) taskOf(ctx context.Context, api *client.Client, ref string) (client.Task, error) {
	id, err := findTask(ctx, api, ref)
	if err != nil {
		return client.Task{}, err
	}
	t, err := api.Task(ctx, id)
	if code := task.CodeOf(err); code == task.CodeNotFound || code == task.CodeInvalid {
		return client.Task{}, noTask(ref)
	}
	return t, err
}

func noTask(ref string) error {
	return task.Errorf(task.CodeNotFound, "No task begins or ends with %q. Next: omoi ps", ref)
}
