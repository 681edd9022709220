package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/scribble"
)

// outcome is the expected end of a task.
type outcome struct {
	name     string
	steps    []string
	ask      func(ctx context.Context, d *drill, id string) error // called once an attempt runs; may be nil
	budget   *task.Budget
	over     func(t task.Task) bool // nil: the status is final
	status   task.Status
	class    task.FailureClass // empty: any
	attempts int               // without a fault
	fails    bool              // its attempts fail by themselves: the task gets a retry only for the attempt that a fault may cost
	says     string            // part of the reason of its last attempt
}

// drillReason is the reason of each command of the drill. A replacement attempt reads it as feedback.
const drillReason = "requested by the drill"

// outcomes returns all outcomes. Only the first is published.
func outcomes() []outcome {
	const spends = `{"usage":{"input_tokens":1000,"output_tokens":1000}}`
	work := func(steps ...string) []string {
		return append([]string{bashStep(scribble.List), stepWrite, stepCommit, stepUnsaved, bashStep(stepScribble)}, steps...)
	}
	again := []string{`{"write":{"path":"feedback","content":"{{feedback}}"}}`, `{"bash":{"command":"grep -q '` + drillReason + `' feedback || sleep 300","timeout_s":400}}`}
	return []outcome{
		{name: "completed", steps: work(stepComplete), status: task.StatusCompleted, attempts: 1},
		{name: "cancelled", steps: work(stepHang), ask: cancels, status: task.StatusCancelled, attempts: 1},
		{name: "failed", steps: work(`{"fail":"` + drillReason + `"}`), status: task.StatusFailed, class: task.ClassAgentError, attempts: 1, fails: true, says: drillReason},
		{name: "timed out", steps: work(`{"wait_message":{}}`), status: task.StatusFailed, class: task.ClassAgentError, attempts: 1, fails: true, says: "waited for a message"},
		{
			name: "over its budget", steps: work(spends, stepHang), budget: &task.Budget{Tokens: 100}, status: task.StatusPending, attempts: 1,
			over: func(t task.Task) bool { return t.Blocked == task.BlockedBudget },
		},
		{name: "replaced", steps: work(append(again, stepComplete)...), ask: replaces, status: task.StatusCompleted, attempts: 2},
	}
}

// outcomesOf returns the outcomes whose first attempt reaches a step.
func outcomesOf(step string) []outcome {
	if onlyCompleting(step) {
		return outcomes()[:1]
	}
	return outcomes()
}

func cancels(ctx context.Context, d *drill, id string) error {
	_, _, err := d.api.Cancel(ctx, id, drillReason)
	return err
}

// replaces sends the command of the guardian.
func replaces(ctx context.Context, d *drill, id string) error {
	return d.temporal.SignalWorkflow(ctx, contract.TaskWorkflowID(id), "", contract.SignalCommand,
		contract.Command{Kind: contract.CommandReplace, Reason: drillReason})
}

// script returns the script of the agent. An agent that has to run at CollectWork waits for messages after its completion.
func (b *injection) script() json.RawMessage {
	waits := b.target.inside && b.step == contract.CollectWork
	return json.RawMessage(fmt.Sprintf(`{"script":{"steps":[%s]},"wait_for_messages":%t}`, strings.Join(b.outcome.steps, ","), waits))
}

func (b *injection) edits(provider string) []func(*apiclient.CreateTaskRequest) {
	edits := []func(*apiclient.CreateTaskRequest){func(in *apiclient.CreateTaskRequest) { in.Provider, in.Budget = provider, b.outcome.budget }}
	if b.outcome.fails {
		edits = append(edits, retries(b.spareAttempts()))
	}
	return edits
}

// spareAttempts returns how many attempts the fault may cost.
func (b *injection) spareAttempts() int {
	if b.target.retries {
		return 1
	}
	return 0
}

// ended is the last known state of a task, and whether that is its end.
type ended struct {
	task.Task
	over bool
}

// lead follows a task to its end and sends the command of its outcome, once for each attempt that needs it.
func (d *drill) lead(ctx context.Context, b *injection) <-chan ended {
	out := make(chan ended, 1)
	go func() {
		last, asked := ended{}, 0
		for ctx.Err() == nil && !last.over {
			if got, err := d.api.Task(ctx, b.made.ID); err == nil {
				last = ended{got, b.isOver(got)}
			}
			if b.wants(last.Task, asked) && b.outcome.ask(ctx, d, b.made.ID) == nil {
				asked = last.AttemptCount
			}
			timer := time.NewTimer(20 * time.Millisecond)
			<-timer.C
		}
		out <- last
	}()
	return out
}

// wants reports whether the current attempt runs, has not been sent the command, and does not end by itself. An attempt
// that follows a lost one gets the command, too.
func (b *injection) wants(t task.Task, asked int) bool {
	if b.outcome.ask == nil || t.Status != task.StatusRunning || asked >= t.AttemptCount {
		return false
	}
	return len(t.Attempts) > 0 && t.Attempts[len(t.Attempts)-1].Kind != "replacement"
}

func (b *injection) isOver(t task.Task) bool {
	if b.outcome.over != nil {
		return b.outcome.over(t)
	}
	return t.Status.Final()
}

// judge describes an unexpected outcome. It returns "" for the expected one.
func (b *injection) judge(got ended) string {
	most := b.outcome.attempts + b.spareAttempts()
	reason := ""
	if n := len(got.Attempts); n > 0 {
		reason = got.Attempts[n-1].Reason
	}
	switch {
	case !got.over:
		return fmt.Sprintf("expected outcome %s; the task does not end: %s, %s%s", b.outcome.name, got.Status, got.Why, stories(got.Attempts))
	case got.Status == b.outcome.status && (b.outcome.class == "" || b.outcome.class == got.FailureClass) && got.AttemptCount >= b.outcome.attempts &&
		got.AttemptCount <= most && strings.Contains(reason, b.outcome.says):
		return ""
	}
	return fmt.Sprintf("expected outcome %s; the task ended as %s %s after %d attempts (%s)%s",
		b.outcome.name, got.Status, got.FailureClass, got.AttemptCount, text(got.ErrorMessage), stories(got.Attempts))
}
