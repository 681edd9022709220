package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	askTime   = 30 * time.Second // for one question to the server
	lookEvery = 50 * time.Millisecond
	pollTime  = 5 * time.Second
	// troubleTime is how long something may fail that a task needs for its sandbox.
	troubleTime = 30 * time.Second
)

// kit is what the trials of one run share.
type kit struct {
	Config

	name  string   // of the scenario
	fixed bool     // of the scenario: see [Scenario]
	tasks []string // that it has made, the newest last
	repo  *repository
	box   string // the sandbox that its trials look at

	trouble time.Time // since when the newest task waits for something that fails
}

// waitUntil asks until the answer is true. An error ends it, unless asking again may help.
func waitUntil(ctx context.Context, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if done || err != nil && !passing(err) {
			return err
		}
		if paused := wait.For(ctx, lookEvery); paused != nil {
			return errors.Join(err, paused)
		}
	}
}

// passing reports whether an error is one after which asking again may help.
func passing(err error) bool {
	code := task.CodeOf(err)
	return code == task.CodeUnavailable || code == task.CodeConflict
}

// newest is the task that the trials are about; empty: there is none yet.
func (k *kit) newest() string {
	if len(k.tasks) == 0 {
		return ""
	}
	return k.tasks[len(k.tasks)-1]
}

// next is the command that tells more of what went wrong.
func (k *kit) next() string {
	if k.newest() == "" {
		return "omoi doctor"
	}
	return "omoi why " + render.Short(k.newest())
}

// why asks the server why the task is where it is, also when the check's own time is over.
func (k *kit) why(ctx context.Context) string {
	if k.newest() == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	found, err := k.API.Why(ctx, k.newest())
	if err != nil {
		return exit.Message(err)
	}
	return render.Clean(found.Why)
}

// ready asks whether the server has all that it needs.
func (k *kit) ready(ctx context.Context) (string, error) {
	state, err := k.API.Ready(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range state.Dependencies {
		if d.Required && d.State == client.StateDown {
			return "", &stopError{verdict: Fail, text: fmt.Sprintf("%s is down: %s", d.Name, d.Detail), next: "omoi doctor"}
		}
	}
	if !state.Ready {
		return "", &stopError{verdict: Fail, text: "The server says that it is not ready.", next: "omoi doctor"}
	}
	info, err := k.API.Info(ctx)
	return fmt.Sprintf("%s answers, version %s; everything that it needs is up.", k.API.BaseURL(), info.Version), err
}

// execution is the execution_config of a task: its script.
func execution(ctx context.Context, steps []map[string]any) (json.RawMessage, error) {
	raw, err := json.Marshal(map[string]any{"script": map[string]any{"steps": steps}})
	return raw, errors.Join(err, ctx.Err())
}

// title is that of the check's tasks and tickets.
func (k *kit) title() string { return "omoi check " + k.name }

func say(text string) map[string]any { return map[string]any{"say": text} }

func bash(command string) map[string]any { return map[string]any{"bash": command} }

// waitMessage holds the agent until it gets a message, and no longer than the check may take: one that was killed
// tells it nothing.
func (k *kit) waitMessage() map[string]any {
	return map[string]any{"wait_message": map[string]any{"timeout_s": k.Timeout.Seconds()}}
}

func complete(output string) map[string]any {
	return map[string]any{"complete": map[string]any{"output": output, "success": true}}
}

// submit gives the scripted agent something to do, without a repository.
func (k *kit) submit(ctx context.Context, text string, script ...map[string]any) error {
	project, err := k.project(ctx)
	if err != nil {
		return err
	}
	in := client.CreateTaskRequest{ProjectID: project, Title: k.title(), Description: text, TaskType: client.TypeCheck, MaxRetries: new(int)}
	_, err = k.create(ctx, in, script...)
	return err
}

// create creates a task of the scripted agent. A Ctrl-C does not end the request: there would be a task that nobody
// knows of.
func (k *kit) create(ctx context.Context, in client.CreateTaskRequest, script ...map[string]any) (client.Task, error) {
	var err error
	in.Agent, in.Provider = task.AgentScripted, k.Provider
	if in.Execution, err = execution(ctx, script); err != nil {
		return client.Task{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	made, _, err := k.API.CreateTask(ctx, in, task.NewID())
	if err == nil {
		k.tasks = append(k.tasks, made.ID)
	}
	return made, err
}

// until waits until the newest task is as the trial wants it. One that has ended otherwise says why.
func (k *kit) until(ctx context.Context, fact func(client.Task) bool) (t client.Task, err error) {
	err = waitUntil(ctx, func() (bool, error) {
		if t, err = k.API.Task(ctx, k.newest()); err != nil {
			return false, err
		}
		switch {
		case fact(t):
			return true, nil
		case t.Status.Final() && t.PendingCommand == nil:
			return false, k.wrong("%s", k.why(ctx))
		case k.hopeless(t):
			return false, k.unplaced(t)
		}
		return false, nil
	})
	return t, err
}

// completed waits until the newest task is completed.
func (k *kit) completed(ctx context.Context) (client.Task, error) {
	return k.until(ctx, func(t client.Task) bool { return t.Status == task.StatusCompleted })
}

// atWork waits until the agent of the newest task has come to where it waits for a message, in another sandbox than
// the one before.
func (k *kit) atWork(ctx context.Context) (client.Task, error) {
	other := func(e client.Event) bool { return e.SandboxID != k.box }
	if _, err := k.heard(ctx, event.AgentWaiting, other); err != nil {
		return client.Task{}, err
	}
	t, err := k.until(ctx, func(t client.Task) bool {
		return t.Status == task.StatusRunning && t.SandboxID != nil && *t.SandboxID != k.box
	})
	if err == nil {
		k.box = *t.SandboxID
	}
	return t, err
}

// heard waits for an event of the newest task; nil fits all of the type.
func (k *kit) heard(ctx context.Context, kind string, fits func(client.Event) bool) (found client.Event, err error) {
	cursor := ""
	err = waitUntil(ctx, func() (bool, error) {
		page, err := k.API.Events(ctx, k.newest(), cursor, pollTime)
		if err != nil {
			return false, err
		}
		for _, e := range page.Items {
			if e.Type == kind && (fits == nil || fits(e)) {
				found = e
				return true, nil
			}
		}
		if page.NextCursor == nil {
			return false, k.wrong("There is no event %s. %s", kind, k.why(ctx))
		}
		if t, err := k.API.Task(ctx, k.newest()); err == nil && k.hopeless(t) {
			return false, k.unplaced(t)
		}
		cursor = *page.NextCursor
		return false, nil
	})
	return found, err
}

// hopeless reports whether a task waits for what does not come by waiting: a host that has such sandboxes, or that
// something answers which has not for a while.
func (k *kit) hopeless(t client.Task) bool {
	switch {
	case t.WaitingFor.Code == "" || t.Status == task.StatusRunning:
		k.trouble = time.Time{}
		return false
	case k.trouble.IsZero():
		k.trouble = time.Now()
	}
	return t.WaitingFor.Code == task.ReasonNoHost || time.Since(k.trouble) > troubleTime
}

func (k *kit) unplaced(t client.Task) error {
	return &stopError{verdict: Fail, text: "The task gets no sandbox: " + render.Clean(t.WaitingFor.Message) + ".", next: "omoi doctor"}
}

// events are all that the newest task has reported so far.
func (k *kit) events(ctx context.Context) (history, error) {
	return taskcmd.AllEvents(ctx, k.API, k.newest())
}

// history is what a task has reported.
type history []client.Event

// count counts events of a type.
func (h history) count(kind string) (n int) {
	for _, e := range h {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// edits counts changes of files that came with a diff.
func (h history) edits() (n int) {
	for _, e := range h {
		var d struct {
			Diff string `json:"diff_preview"`
		}
		if e.Type == event.AgentFileEdited && json.Unmarshal(e.Data, &d) == nil && strings.Contains(d.Diff, "\n+") {
			n++
		}
	}
	return n
}

// printed is what a command has printed, run by run.
func (h history) printed(command string) (results []string) {
	runs := map[string]bool{}
	for _, e := range h {
		var call struct {
			ID    string `json:"tool_use_id"`
			Input struct {
				Command string `json:"command"`
			} `json:"input"`
			Result string `json:"result"`
		}
		switch {
		case json.Unmarshal(e.Data, &call) != nil:
		case e.Type == event.AgentToolUse:
			runs[call.ID] = call.Input.Command == command
		case e.Type == event.AgentToolResult && runs[call.ID]:
			results = append(results, call.Result)
		}
	}
	return results
}

func where(t client.Task) string {
	return fmt.Sprintf("Task %s is running in sandbox %s (%s).", render.Short(t.ID), task.Deref(t.SandboxID), t.Provider)
}
