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
	askTime   = 30 * time.Second // timeout of one request
	lookEvery = 50 * time.Millisecond
	pollTime  = 5 * time.Second
	// troubleTime is how long a task may wait for a failing dependency before a step fails.
	troubleTime = 30 * time.Second
)

// kit is the state that the steps of one scenario share.
type kit struct {
	Config

	name  string   // name of the scenario
	fixed bool     // see [Scenario]
	tasks []string // IDs of the created tasks, the newest last
	repo  *repository
	box   string // ID of the sandbox that the steps use

	trouble time.Time // since when the newest task waits for a failing dependency; zero: it does not
}

// waitUntil calls ask until it returns true or an error. An error that may pass does not end the wait.
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

// passing reports whether a repetition of the request may succeed.
func passing(err error) bool {
	code := task.CodeOf(err)
	return code == task.CodeUnavailable || code == task.CodeConflict
}

// newest returns the ID of the newest task; empty: no task exists yet.
func (k *kit) newest() string {
	if len(k.tasks) == 0 {
		return ""
	}
	return k.tasks[len(k.tasks)-1]
}

// next returns the command that explains a failed step.
func (k *kit) next() string {
	if k.newest() == "" {
		return "omoi doctor"
	}
	return "omoi why " + render.Short(k.newest())
}

// why returns the server's explanation of the newest task's state. A timeout of the scenario does not stop the request.
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

// ready checks that the server and all required dependencies are up.
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
		return "", &stopError{verdict: Fail, text: "The server is not ready.", next: "omoi doctor"}
	}
	info, err := k.API.Info(ctx)
	return fmt.Sprintf("%s answers, version %s; everything that it needs is up.", k.API.BaseURL(), info.Version), err
}

// execution returns the execution_config of a task with a script. The error includes that of ctx.
func execution(ctx context.Context, steps []map[string]any) (json.RawMessage, error) {
	raw, err := json.Marshal(map[string]any{"script": map[string]any{"steps": steps}})
	return raw, errors.Join(err, ctx.Err())
}

// title returns the title of the check's tasks and tickets.
func (k *kit) title() string { return "omoi check " + k.name }

func say(text string) map[string]any { return map[string]any{"say": text} }

func bash(command string) map[string]any { return map[string]any{"bash": command} }

// waitMessage returns the step in which the agent waits for a message, at most for the timeout of the check: the task
// of a killed check ends then.
func (k *kit) waitMessage() map[string]any {
	return map[string]any{"wait_message": map[string]any{"timeout_s": k.Timeout.Seconds()}}
}

func complete(output string) map[string]any {
	return map[string]any{"complete": map[string]any{"output": output, "success": true}}
}

// submit creates a task of the scripted agent without a repository.
func (k *kit) submit(ctx context.Context, text string, script ...map[string]any) error {
	project, err := k.project(ctx)
	if err != nil {
		return err
	}
	in := client.CreateTaskRequest{ProjectID: project, Title: k.title(), Description: text, TaskType: client.TypeCheck, MaxRetries: new(int)}
	_, err = k.create(ctx, in, script...)
	return err
}

// create creates a task, of the scripted agent unless in names another one. A Ctrl-C does not interrupt the request, so that the task is known and
// cleaned up.
func (k *kit) create(ctx context.Context, in client.CreateTaskRequest, script ...map[string]any) (client.Task, error) {
	in.Provider = k.Provider
	if in.Agent == "" {
		var err error
		in.Agent = task.AgentScripted
		if in.Execution, err = execution(ctx, script); err != nil {
			return client.Task{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	made, _, err := k.API.CreateTask(ctx, in, task.NewID())
	if err == nil {
		k.tasks = append(k.tasks, made.ID)
	}
	return made, err
}

// until waits until fact holds for the newest task. A task that ends otherwise, or that gets no sandbox, is an error.
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
		case k.stuck(t):
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

// atWork waits until the agent of the newest task waits for a message in a sandbox other than the previous one.
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

// heard waits for an event of the newest task. A nil fits accepts every event of the type.
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
			return false, k.wrong("The task ended without the event %s. %s", kind, k.why(ctx))
		}
		if t, err := k.API.Task(ctx, k.newest()); err == nil && k.stuck(t) {
			return false, k.unplaced(t)
		}
		cursor = *page.NextCursor
		return false, nil
	})
	return found, err
}

// stuck reports whether a task waits in vain: for a host that does not exist, or for a dependency that has failed
// longer than [troubleTime].
func (k *kit) stuck(t client.Task) bool {
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

// events returns all events of the newest task so far.
func (k *kit) events(ctx context.Context) (history, error) {
	return taskcmd.AllEvents(ctx, k.API, k.newest())
}

// history is the list of a task's events.
type history []client.Event

// count returns the number of events of a type.
func (h history) count(kind string) (n int) {
	for _, e := range h {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// edits returns the number of file edits that have a diff with an added line.
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

// printed returns the outputs of a command, one for each run.
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
			results = append(results, strings.TrimSpace(call.Result))
		}
	}
	return results
}

func where(t client.Task) string {
	return fmt.Sprintf("Task %s is running in sandbox %s (%s).", render.Short(t.ID), task.Deref(t.SandboxID), t.Provider)
}
