package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	t, err := byID(ctx, api, ref)
	if task.CodeOf(err) == task.CodeNotFound && ref != "-" {
		t, err = s.ofTicket(ctx, api, strings.ToLower(strings.TrimSpace(ref)))
	}
	return t, err
}

func byID(ctx context.Context, api *client.Client, ref string) (client.Task, error) {
	id, err := findTask(ctx, api, ref)
	if err != nil {
		return client.Task{}, err
	}
	return api.Task(ctx, id)
}

func noTask(ref string) error {
	return task.Errorf(task.CodeNotFound, "No task begins or ends with %q, and no ticket. Next: omoi ps", ref)
}

// ofTicket finds the newest task of a ticket: branches are called after the ticket.
func (s *session) ofTicket(ctx context.Context, api *client.Client, ref string) (client.Task, error) {
	filter := client.TaskFilter{Limit: pageLimit}
	if len(ref) == uuidLength {
		filter = client.TaskFilter{TicketID: ref, Limit: 1}
	}
	page, err := api.Tasks(ctx, filter)
	switch {
	case task.CodeOf(err) == task.CodeInvalid: // as long as an id, and none
		return client.Task{}, noTask(ref)
	case err != nil:
		return client.Task{}, err
	}
	var found []client.Task
	for _, t := range page.Items { // newest first
		mine := partOf(t.TicketID, ref)
		if mine && !slices.ContainsFunc(found, func(other client.Task) bool { return other.TicketID == t.TicketID }) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return client.Task{}, noTask(ref)
	case 1:
		s.hint("%s is a ticket; this is its newest task, %s.", ref, render.Short(found[0].ID))
		return api.Task(ctx, found[0].ID)
	}
	return client.Task{}, ambiguous(ref, found)
}
