package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

// overviewTasks is the number of newest tasks that the overview counts.
const overviewTasks = 100

// overview is the JSON form of omoi without a command.
type overview struct {
	APIURL    string              `json:"api_url"` // empty: no server is running
	Info      *client.Info        `json:"info"`
	Readiness *client.Readiness   `json:"readiness"`
	Counts    map[task.Status]int `json:"task_counts"` // of the newest tasks
	Counted   int                 `json:"counted_tasks"`
	NeedsUser []client.Task       `json:"needs_user"` // tasks that wait for an action of a user
	Next      string              `json:"next"`

	more bool // older tasks exist
}

// Overview prints the state of the server, its tasks by status, the tasks that wait for a user, and the next command.
func Overview(ctx context.Context, streams IO) error {
	s := &session{streams}
	o := overview{Counts: make(map[task.Status]int), NeedsUser: []client.Task{}, Next: "omoi dev"}
	api, err := s.api()
	if exit.Code(err) == exit.Unreachable {
		err = s.answer(o, nil, func() { s.say("No server is running.\nNext: %s", o.Next) })
		return cmp.Or(err, exit.With(exit.Unreachable, nil))
	}
	if err == nil {
		err = o.read(ctx, api)
	}
	return s.answer(o, err, func() { s.showOverview(o) })
}

// read reads the state of the server, the newest tasks, those that need a user, and the pending tasks, of which some may be suspended.
func (o *overview) read(ctx context.Context, api *client.Client) error {
	info, err := api.Info(ctx)
	if err != nil {
		return err
	}
	ready, err := api.Ready(ctx)
	if err != nil {
		return err
	}
	tasks, err := newest(ctx, api, client.TaskFilter{}, overviewTasks, false)
	if err != nil {
		return err
	}
	waiting, err := api.Tasks(ctx, client.TaskFilter{Group: string(task.GroupNeedsYou), Limit: overviewTasks})
	if err != nil {
		return err
	}
	pending, err := api.Tasks(ctx, client.TaskFilter{Status: string(task.StatusPending), Limit: overviewTasks})
	o.APIURL, o.Info, o.Readiness, o.more, o.Counted = api.BaseURL(), &info, &ready, tasks.More, len(tasks.Items)
	for _, t := range tasks.Items {
		o.Counts[t.Status]++
	}
	o.NeedsUser = append(o.NeedsUser, waiting.Items...)
	for _, t := range pending.Items {
		if t.Blocked == task.BlockedSuspended {
			o.NeedsUser = append(o.NeedsUser, t)
		}
	}
	o.Next = o.next(tasks.Items)
	return err
}

// next returns the most useful command: first for tasks that wait for a user, then for open ones.
func (o *overview) next(tasks []client.Task) string {
	running := slices.IndexFunc(tasks, func(t client.Task) bool { return !t.Status.Final() })
	switch {
	case len(o.NeedsUser) > 0:
		return resumes(o.NeedsUser[0])
	case running >= 0:
		return "omoi logs -f " + render.Name(tasks[running].Key, tasks[running].ID)
	case o.Info.DefaultAgent != "":
		return "omoi run \"<text>\""
	case len(tasks) == 0:
		return "omoi run \"Say hello\" --repo <path> --script example:hello --wait"
	}
	return "omoi doctor"
}

// resumes returns the command that resumes a task which waits for a user.
func resumes(t client.Task) string {
	if t.Blocked == task.BlockedReview {
		return "omoi review " + render.Name(t.Key, t.ID) + " --approve"
	}
	return nextCommands(t, t.Status == task.StatusRunning)[0][0] // a running task needs a user when its agent waits
}

func (s *session) showOverview(o overview) {
	s.row("Server", fmt.Sprintf("%s, version %s", o.APIURL, o.Info.Version))
	s.row("Tasks", o.counts())
	for _, t := range o.NeedsUser {
		s.row("Needs you", fmt.Sprintf("%s  %s  Next: %s", render.Name(t.Key, t.ID), shortWhy(t), resumes(t)))
	}
	for _, d := range o.Readiness.Dependencies {
		if d.State == client.StateDown {
			s.row("Alert", s.style().Red(d.Name)+": "+render.OneLine(d.Detail, 300)+suffix(" Next: ", d.Next))
		}
	}
	if o.Info.DefaultAgent == "" {
		s.row("Agents", "no default: no agent runtime has its program and a credential. Next: omoi doctor, or omoi credentials set anthropic")
	}
	s.say("\nNext: %s", o.Next)
}

// counts renders the number of tasks by status, in the order of the life of a task.
func (o *overview) counts() string {
	var parts []string
	for _, status := range task.Statuses() {
		if n := o.Counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	text := cmp.Or(strings.Join(parts, ", "), "none")
	if o.more {
		text += fmt.Sprintf(" (of the newest %d)", o.Counted)
	}
	return text
}
