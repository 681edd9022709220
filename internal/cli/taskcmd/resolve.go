package taskcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	uuidLength  = 36
	minFragment = 4
	newestRef   = "-"
)

// kind describes how items of a list are named on the command line.
type kind[T any] struct {
	noun, list string // name of an item, and the command that lists items
	id         func(T) string
	name       func(T) string // nil: items have no names
	key        func(T) string // nil: the server resolves keys
}

// pick returns the item that ref names: by its ID, name or key, or by 4 or more characters of the beginning or end of
// the ID.
func (k kind[T]) pick(all []T, ref string) (T, error) {
	var none T
	var exact, parts []T
	for _, one := range all {
		switch {
		case ref != "" && (k.id(one) == ref || k.name != nil && k.name(one) == ref || k.key != nil && strings.EqualFold(k.key(one), ref)):
			exact = append(exact, one)
		case len(ref) >= minFragment && partOf(k.id(one), ref):
			parts = append(parts, one)
		}
	}
	if len(exact) == 0 {
		exact = parts
	}
	switch {
	case len(exact) == 1:
		return exact[0], nil
	case len(exact) > 1:
		const most = 6
		var ids []string
		for _, one := range exact[:min(len(exact), most)] {
			ids = append(ids, k.id(one))
		}
		return none, exit.Usagef("%q matches %s: give more of the ID: %s. Next: %s", ref, task.Count(len(exact), k.noun), strings.Join(ids, ", "), k.list)
	case len(ref) < minFragment && k.name == nil:
		return none, exit.Usagef("%q is too short for a %s: give 4 or more characters of the ID. Next: %s", ref, k.noun, k.list)
	}
	return none, task.Errorf(task.CodeNotFound, "No %s matches %q (4 or more characters of an ID are enough). Next: %s", k.noun, ref, k.list)
}

// partOf reports whether ref is the beginning or the end of an ID, or the beginning of the short ID.
func partOf(id, ref string) bool {
	return strings.HasPrefix(id, ref) || strings.HasSuffix(id, ref) || strings.HasPrefix(render.Short(id), ref)
}

// plain returns a reference in lower case, without spaces around it.
func plain(ref string) string { return strings.ToLower(strings.TrimSpace(ref)) }

// oneTask checks that a command has one argument, a task.
func oneTask(cmd *cobra.Command, args []string) error {
	return exactly(1, "one task: its key or ID, 4 or more characters of the ID, or - for the newest")(cmd, args)
}

// listTasks is the next step if no task matches.
const listTasks = "omoi ps; for the tasks of a ticket, omoi ticket show"

// taskOf returns the task that ref names.
func (s *session) taskOf(ctx context.Context, api *client.Client, ref string) (found client.Task, err error) {
	switch ref = plain(ref); {
	case ref == newestRef:
		found, err = newestTask(ctx, api)
	case len(ref) == uuidLength, isKey(task.KeyedTask, ref):
		found.ID = ref
	default:
		var page client.Page[client.Task]
		page, err = api.Tasks(ctx, client.TaskFilter{ID: ref, Limit: 6})
		if err == nil || task.CodeOf(err) == task.CodeInvalid { // invalid: ref cannot be part of an ID
			id := func(t client.Task) string { return t.ID }
			found, err = kind[client.Task]{noun: "task", list: listTasks, id: id}.pick(page.Items, ref)
		}
	}
	if err != nil {
		return found, err
	}
	if found, err = api.Task(ctx, found.ID); task.CodeOf(err) == task.CodeNotFound {
		err = task.Errorf(task.CodeNotFound, "No task has the ID or key %s. Next: %s", ref, listTasks).WithCause(err)
	}
	return found, err
}

// isKey reports whether ref has the form of the key of a task or ticket.
func isKey(kind, ref string) bool {
	_, ok := task.KeyOf(kind, ref)
	return ok
}

func newestTask(ctx context.Context, api *client.Client) (client.Task, error) {
	page, err := newest(ctx, api, client.TaskFilter{}, 1, false)
	if err == nil && len(page.Items) == 0 {
		err = task.Errorf(task.CodeNotFound, "No tasks yet. Next: omoi run \"Say hello\" --repo <path> --script example:hello")
	}
	if err != nil {
		return client.Task{}, err
	}
	return page.Items[0], nil
}

const boxArg = "one sandbox, or a task: its key or ID, or 4 or more characters of it (omoi sandbox list --recent)"

// boxVerb returns a command about one sandbox, which may be deleted.
func (s *session) boxVerb(use, short string, do func(context.Context, *client.Client, client.Sandbox) error) *cobra.Command {
	cmd := s.verb(use+" <sandbox>", short, exactly(1, boxArg), about(s.boxOf, do))
	cmd.ValidArgsFunction = s.completeTasks
	return cmd
}

// boxOf returns the sandbox that ref names, or the sandbox of the last attempt of the task that ref names.
func (s *session) boxOf(ctx context.Context, api *client.Client, ref string) (client.Sandbox, error) {
	ref = strings.TrimPrefix(plain(ref), task.SandboxNamePrefix)
	if ref == newestRef || isKey(task.KeyedTask, ref) {
		return s.boxOfTask(ctx, api, ref)
	}
	box, err := api.Sandbox(ctx, ref)
	if task.CodeOf(err) != task.CodeNotFound {
		return box, err
	}
	for _, filter := range []client.SandboxFilter{{Unverified: true}, {}} { // existing ones first
		boxes, listErr := listBoxes(ctx, api, filter, 0)
		if listErr != nil {
			return box, listErr
		}
		box, err = kind[client.Sandbox]{
			noun: "sandbox", list: "omoi sandbox list --recent", id: func(b client.Sandbox) string { return b.ID },
		}.pick(boxes, ref)
		if task.CodeOf(err) != task.CodeNotFound {
			return box, err
		}
	}
	box, taskErr := s.boxOfTask(ctx, api, ref)
	if task.CodeOf(taskErr) == task.CodeNotFound {
		return box, err
	}
	return box, taskErr
}

// boxOfTask returns the sandbox of the last attempt of a task. Newer ones may exist, in which the tests are repeated.
func (s *session) boxOfTask(ctx context.Context, api *client.Client, ref string) (client.Sandbox, error) {
	t, err := s.taskOf(ctx, api, ref)
	if err != nil {
		return client.Sandbox{}, err
	}
	if len(t.Attempts) == 0 {
		return client.Sandbox{}, task.Errorf(task.CodeConflict, "Task %s has no sandbox yet. Next: omoi why %s", render.Name(t.Key, t.ID), render.Name(t.Key, t.ID))
	}
	return api.Sandbox(ctx, t.Attempts[len(t.Attempts)-1].SandboxID)
}
