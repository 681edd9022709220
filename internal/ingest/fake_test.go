package ingest_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// fakeRuns is a Temporal that records its calls, task by task.
type fakeRuns struct {
	mu    sync.Mutex
	told  map[string][]string
	seen  map[string]int64 // by sandbox: events 1..seen are known, as the workflow keeps it
	stars map[string][]contract.Milestone
	holes []string
	open  map[string]bool
	input map[string]contract.TaskInput
	// before is asked before each call; its error is the answer.
	before func(call string) error
	// after is asked after the call has taken effect; its error hides that.
	after func(call string) error
	calls chan string // every call that took effect, if not nil
}

func newFakeRuns() *fakeRuns {
	return &fakeRuns{
		told: map[string][]string{}, seen: map[string]int64{}, stars: map[string][]contract.Milestone{},
		open: map[string]bool{}, input: map[string]contract.TaskInput{},
	}
}

func (f *fakeRuns) StartTask(_ context.Context, in contract.TaskInput, retry bool) error {
	return f.do(in.TaskID, fmt.Sprint("start ", in.CommandID), func() error {
		switch {
		case f.open[in.TaskID] && retry:
			return task.Errorf(task.CodeConflict, "open")
		case f.open[in.TaskID]:
			return nil
		}
		f.open[in.TaskID], f.input[in.TaskID] = true, in
		return nil
	})
}

func (f *fakeRuns) SignalCommand(_ context.Context, taskID string, c contract.Command) error {
	return f.do(taskID, c.Kind+" "+c.ID, func() error { return f.needOpen(taskID) })
}

func (f *fakeRuns) SignalAdmitted(_ context.Context, taskID string) error {
	return f.do(taskID, "admitted", func() error { return f.needOpen(taskID) })
}

func (f *fakeRuns) SignalDigest(_ context.Context, taskID string, d contract.Digest) error {
	return f.do(taskID, fmt.Sprintf("digest %d-%d", d.From, d.To), func() error {
		if err := f.needOpen(taskID); err != nil {
			return err
		}
		f.apply(d)
		return nil
	})
}

func (f *fakeRuns) StartCleanup(_ context.Context, in contract.CleanupInput) error {
	return f.do("cleanup", in.SandboxID, func() error { return nil })
}

func (f *fakeRuns) WakeReaper(context.Context) error {
	return f.do("reaper", "wake", func() error { return nil })
}

func (f *fakeRuns) Check(context.Context) error {
	if f.before == nil {
		return nil
	}
	return f.before("check")
}

// apply does what the workflow does: it drops what it has seen, and must not find a gap.
func (f *fakeRuns) apply(d contract.Digest) {
	seen := f.seen[d.SandboxID]
	if d.To <= seen {
		return
	}
	if d.From > seen+1 {
		f.holes = append(f.holes, fmt.Sprintf("%s: %d after %d", d.SandboxID, d.From, seen))
	}
	for _, m := range d.Milestones {
		if m.Sequence > seen {
			f.stars[d.SandboxID] = append(f.stars[d.SandboxID], m)
		}
	}
	f.seen[d.SandboxID] = d.To
}

func (f *fakeRuns) needOpen(taskID string) error {
	if !f.open[taskID] {
		return task.Errorf(task.CodeNotFound, "never started")
	}
	return nil
}

func (f *fakeRuns) do(taskID, call string, effect func() error) error {
	if f.before != nil {
		if err := f.before(call); err != nil {
			return err
		}
	}
	f.mu.Lock()
	err := effect()
	if err == nil {
		f.told[taskID] = append(f.told[taskID], call)
	}
	f.mu.Unlock()
	if err == nil && f.calls != nil {
		f.calls <- call
	}
	if err == nil && f.after != nil {
		return f.after(call)
	}
	return err
}

// of answers what a task was told.
func (f *fakeRuns) of(taskID string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.told[taskID]...)
}

func (f *fakeRuns) set(taskID string, open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[taskID] = open
}

func (f *fakeRuns) known(sandboxID string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[sandboxID]
}
