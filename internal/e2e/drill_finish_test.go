package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apiclient "github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// finish is a way in which the task of a bout is to end.
type finish struct {
	name     string
	steps    []string
	ask      func(ctx context.Context, d *drill, id string) error // once an attempt runs; nil: nothing is asked
	budget   *task.Budget
	over     func(t task.Task) bool // nil: the task has ended
	status   task.Status
	class    task.FailureClass // empty: any
	attempts int               // that it takes
	fails    bool              // its attempts fail by themselves, so only one that may be lost is tried again
	says     string            // in the reason of its last attempt
}

// drillSays is the reason of what the drill asks for. An attempt that replaces another is told it.
const drillSays = "the drill says so"

// finishes are all of them. The first is the only one that gets to be published.
func finishes() []finish {
	const spends = `{"usage":{"input_tokens":1000,"output_tokens":1000}}`
	work := func(steps ...string) []string { return append([]string{stepWrite, stepCommit, stepUnsaved}, steps...) }
	again := []string{`{"write":{"path":"feedback","content":"{{feedback}}"}}`, `{"bash":{"command":"grep -q '` + drillSays + `' feedback || sleep 300","timeout_s":400}}`}
	return []finish{
		{name: "completed", steps: work(stepComplete), status: task.StatusCompleted, attempts: 1},
		{name: "cancelled", steps: work(stepHang), ask: cancels, status: task.StatusCancelled, attempts: 1},
		{name: "failed", steps: work(`{"fail":"` + drillSays + `"}`), status: task.StatusFailed, class: task.ClassAgentError, attempts: 1, fails: true, says: drillSays},
		{name: "timed out", steps: work(`{"wait_message":{}}`), status: task.StatusFailed, class: task.ClassAgentError, attempts: 1, fails: true, says: "waited for a message"},
		{
			name: "over its budget", steps: work(spends, stepHang), budget: &task.Budget{Tokens: 100}, status: task.StatusPending, attempts: 1,
			over: func(t task.Task) bool { return t.Blocked == task.BlockedBudget },
		},
		{name: "replaced", steps: work(append(again, stepComplete)...), ask: replaces, status: task.StatusCompleted, attempts: 2},
	}
}

// finishesOf are those whose first attempt comes to a step.
func finishesOf(step string) []finish {
	if onlyCompleting(step) {
		return finishes()[:1]
	}
	return finishes()
}

func cancels(ctx context.Context, d *drill, id string) error {
	_, _, err := d.api.Cancel(ctx, id, drillSays)
	return err
}

// replaces asks as the guardian does.
func replaces(ctx context.Context, d *drill, id string) error {
	return d.temporal.SignalWorkflow(ctx, contract.TaskWorkflowID(id), "", contract.SignalCommand,
		contract.Command{Kind: contract.CommandReplace, Reason: drillSays})
}

// script is what the agent of a bout does. One that is to be stopped alive waits for messages when it is done.
func (b *bout) script() json.RawMessage {
	waits := b.victim.inside && b.step == contract.CollectWork
	return json.RawMessage(fmt.Sprintf(`{"script":{"steps":[%s]},"wait_for_messages":%t}`, strings.Join(b.finish.steps, ","), waits))
}

func (b *bout) edits(provider string) []func(*apiclient.NewTask) {
	edits := []func(*apiclient.NewTask){func(in *apiclient.NewTask) { in.Sandbox, in.Budget = provider, b.finish.budget }}
	if b.finish.fails {
		edits = append(edits, retries(b.spare()))
	}
	return edits
}

// spare are the attempts that may be lost to the blow.
func (b *bout) spare() int {
	if b.victim.retries {
		return 1
	}
	return 0
}

// ended is how a task was seen last, and whether it was at its end.
type ended struct {
	task.Task
	over bool
}

// lead brings the task to its end: it asks what is to be asked, as long as it takes.
func (d *drill) lead(ctx context.Context, b *bout) <-chan ended {
	out := make(chan ended, 1)
	go func() {
		last, asked := ended{}, 0
		for ctx.Err() == nil && !last.over {
			if got, err := d.api.Task(ctx, b.made.ID); err == nil {
				last = ended{got, b.isOver(got)}
			}
			if b.wants(last.Task, asked) && b.finish.ask(ctx, d, b.made.ID) == nil {
				asked = last.AttemptCount
			}
			timer := time.NewTimer(20 * time.Millisecond)
			<-timer.C
		}
		out <- last
	}()
	return out
}

// wants is true of an attempt that runs, was not asked yet, and does not end by itself: one that was begun in
// the place of a lost one is asked too.
func (b *bout) wants(t task.Task, asked int) bool {
	if b.finish.ask == nil || t.Status != task.StatusRunning || asked >= t.AttemptCount {
		return false
	}
	return len(t.Attempts) > 0 && t.Attempts[len(t.Attempts)-1].Kind != "replacement"
}

func (b *bout) isOver(t task.Task) bool {
	if b.finish.over != nil {
		return b.finish.over(t)
	}
	return t.Status.Final()
}

// judge says what is wrong with an end; empty: nothing.
func (b *bout) judge(got ended) string {
	most := b.finish.attempts + b.spare()
	reason := ""
	if n := len(got.Attempts); n > 0 {
		reason = got.Attempts[n-1].Reason
	}
	switch {
	case !got.over:
		return fmt.Sprintf("one that is to be %s does not end: %s, %s%s", b.finish.name, got.Status, got.Why, stories(got.Attempts))
	case got.Status == b.finish.status && (b.finish.class == "" || b.finish.class == got.FailureClass) && got.AttemptCount >= b.finish.attempts &&
		got.AttemptCount <= most && strings.Contains(reason, b.finish.says):
		return ""
	}
	return fmt.Sprintf("one that is to be %s ended as %s %s after %d attempts (%s)%s",
		b.finish.name, got.Status, got.FailureClass, got.AttemptCount, text(got.ErrorMessage), stories(got.Attempts))
}
