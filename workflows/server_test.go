package workflows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/workflows"
)

// path is one way through a workflow, played on a real server.
type path struct {
	name string
	play func(*serverFixture)
}

// TestOnServer plays every path on the real dev server. With OMOI_RECORD=1 it writes their
// histories to testdata/histories, which TestReplay replays. With OMOI_STICKY_CACHE=off
// every workflow task replays from the first event.
func TestOnServer(t *testing.T) { //nolint:paralleltest // the paths share one task queue
	if os.Getenv("OMOI_STICKY_CACHE") == "off" {
		worker.SetStickyWorkflowCacheSize(0)
	}
	c := devServer(t)
	for i, p := range append(paths(), validatedPaths()...) { //nolint:paralleltest // as above
		t.Run(p.name, func(t *testing.T) {
			tr := newServerFixture(t, c, i)
			p.play(tr)
			tr.record(p.name)
		})
	}
}

func paths() []path {
	return []path{
		{"happy", playHappy},
		{"retry-then-success", playRetry},
		{"feedback", playFeedback},
		{"cancel-by-command", playCancelByCommand},
		{"cancel-by-cli", playCancelByCLI},
		{"worker-killed", playWorkerKilled},
		{"continue-as-new", playContinueAsNew},
		{"reset-running", playResetRunning},
		{"reset-completed", playResetCompleted},
		{"failed", playFailed},
		{"unknown", playUnknown},
		{"agent-ended", playAgentEnded},
		{"provider-limit", playProviderLimit},
		{"waits-for-slot", playWaitsForSlot},
		{"salvage-lost", playSalvageLost},
		{"gone-late", playGoneLate},
		{"second-look-later", playSecondAbsenceCheckLater},
		{"closed-before-second-look", playClosedBeforeSecondAbsenceCheck},
		{"cleaned-by-another", playCleanedByAnother},
		{"host-away", playHostOffline},
		{"host-lost", playHostLost},
		{"pull", playPull},
		{"pull-unread", playPullUnread},
		{"pull-relay-terminated", playPullRelayTerminated},
		{"branch-limit", playBranchLimit},
		{"open-limit", playPullLimit},
		{"push-limit", playPushLimit},
		{"promoted", playSavedWorkPublished},
		{"promoted-redone", playSavedWorkRepeated},
		{"replaced", playReplaced},
		{"rewound", playRewound},
		{"rewind-branch", playRewindBranch},
		{"forked", playForked},
		{"paused", playPaused},
		{"budget", playBudget},
		{"question", playQuestion},
		{"taken", playTaken},
		{"guardian", playGuardian},
		{"conductor", playConductor},
		{"retention", playRetention},
		{"frozen", playFrozen},
		{"repeat-tests", playRepeatTests},
	}
}

// The first work passes with changed tests alone, which its contract forbids.
func playRepeatTests(tr *serverFixture) {
	tr.tested, tr.loaded.Settings.RetryBase = true, 100*time.Millisecond
	tr.succeeds()
	tr.fail[contract.RepeatTests] = []error{testsChanged()}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
	require.Equal(tr.t, 2, tr.count(contract.RepeatTests))
}

func playHappy(tr *serverFixture) {
	tr.succeeds()
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, tr.status(""))
	require.Equal(tr.t, []string{tr.box(1)}, tr.cleaned)
	require.LessOrEqual(tr.t, tr.effects(), 30)
}

// effects counts the history events of the task except those of workflow tasks, whose number depends on when events arrive. A
// task without a fault has about ten workflow tasks of three events each, and at most 60 history events in total.
func (tr *serverFixture) effects() int {
	n := 0
	for _, e := range tr.history(tr.workflowID(), tr.firstRun).Events {
		if !strings.HasPrefix(e.GetEventType().String(), "WorkflowTask") {
			n++
		}
	}
	return n
}

func playRetry(tr *serverFixture) {
	tr.loaded.Settings.RetryBase = 100 * time.Millisecond
	tr.spawned = func(n int, box string) {
		end := completed(true)
		if n == 1 {
			end = agentError(task.ClassInfrastructure)
		}
		tr.after(time.Second, func() { tr.events(box, 1, started(), end) })
	}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
}

func playFeedback(tr *serverFixture) {
	tr.spawned = func(n int, box string) {
		verdict := "no"
		if n == 2 {
			verdict = "ok"
		}
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		tr.after(4*time.Second, func() { tr.command(contract.CommandVerdict, "v"+tr.box(n), verdict) })
	}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, "revision", tr.begun[1].Kind)
}

func playReplaced(tr *serverFixture) {
	tr.spawned = func(n int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		if n == 1 {
			tr.after(4*time.Second, func() { tr.command(contract.CommandReplace, "r1", "it goes round and round") })
			return
		}
		tr.after(4*time.Second, func() { tr.events(box, 2, completed(true)) })
	}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
	require.Equal(tr.t, "replacement", tr.begun[1].Kind)
	require.Equal(tr.t, task.ReceiptCarriedOut, tr.receipts()["r1"])
}

func playCancelByCommand(tr *serverFixture) {
	tr.spawned = func(_ int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		tr.after(4*time.Second, func() { tr.command(contract.CommandCancel, "c1", "enough") })
	}
	require.True(tr.t, temporal.IsCanceledError(tr.play()))
	require.Equal(tr.t, enums.WORKFLOW_EXECUTION_STATUS_CANCELED, tr.status(""))
	require.Equal(tr.t, []string{tr.box(1)}, tr.cleaned)
}

func playCancelByCLI(tr *serverFixture) {
	tr.spawned = func(_ int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		tr.after(4*time.Second, func() { _ = tr.c.CancelWorkflow(context.Background(), tr.workflowID(), "") })
	}
	require.True(tr.t, temporal.IsCanceledError(tr.play()))
	require.Equal(tr.t, enums.WORKFLOW_EXECUTION_STATUS_CANCELED, tr.status(""))
}

func playWorkerKilled(tr *serverFixture) {
	restarted := make(chan struct{})
	tr.spawned = func(_ int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		tr.after(4*time.Second, func() {
			tr.w.Stop()
			tr.startWorker()
			tr.events(box, 2, completed(true))
			close(restarted)
		})
	}
	require.NoError(tr.t, tr.play())
	<-restarted
	require.Len(tr.t, tr.begun, 1)
}

func playContinueAsNew(tr *serverFixture) {
	tr.loaded.Settings.MaxSignals = 5
	tr.spawned = func(_ int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		for i := range 12 {
			tr.after(time.Duration(i+2)*2*time.Second, func() { tr.events(box, int64(i+2)) })
		}
		tr.after(40*time.Second, func() { tr.events(box, 14, completed(true)) })
	}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 1)
	require.NotEqual(tr.t, tr.firstRun, tr.currentRun())
}

func playResetRunning(tr *serverFixture) {
	tr.spawned = func(_ int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started()) })
		tr.after(6*time.Second, func() { go tr.resetLive(box) })
	}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 1, "the sandbox lives: no second attempt")
	require.Equal(tr.t, 2, tr.count(contract.LoadTask))
}

// resetLive resets the run while its sandbox exists, as `temporal workflow reset` does without --reapply-exclude, and then
// completes the task.
func (tr *serverFixture) resetLive(box string) {
	tr.mu.Lock()
	live := contract.LiveAttempt{Number: 1, SandboxID: box, Provider: "local", LastSequence: 2, Assigned: true, Started: true}
	tr.loaded.Reset, tr.loaded.Live, tr.loaded.Branch, tr.loaded.Base = true, &live, "feature/x", "c0ffee"
	tr.loaded.State = task.State{Status: task.StatusRunning, Attempts: 1, MaxRetries: 3}
	tr.unread[box] = contract.Digest{
		SandboxID: box, From: 1, To: 3, LastHeartbeat: tr.now(), Milestones: []contract.Milestone{
			{Sequence: 1, Type: event.AgentStarted}, {Sequence: 3, Type: event.AgentCompleted, OK: true},
		},
	}
	tr.mu.Unlock()
	tr.reset()
	tr.events(box, 3, completed(true)) // already stored; this duplicate may arrive before or after the read
}

func playResetCompleted(tr *serverFixture) {
	tr.succeeds()
	require.NoError(tr.t, tr.play())
	tr.mu.Lock()
	tr.loaded.Settled = task.StatusCompleted
	tr.mu.Unlock()
	tr.reset()
	require.NoError(tr.t, tr.await(tr.c.GetWorkflow(tr.t.Context(), tr.workflowID(), ""), nil))
	require.Len(tr.t, tr.begun, 1)
}

func playFailed(tr *serverFixture) {
	tr.loaded.State.MaxRetries = 0
	tr.spawned = func(_ int, box string) {
		tr.after(time.Second, func() { tr.events(box, 1, started(), agentError(task.ClassAgentError)) })
	}
	var app *temporal.ApplicationError
	require.ErrorAs(tr.t, tr.play(), &app)
	require.Equal(tr.t, string(task.ClassAgentError), app.Type())
	require.Equal(tr.t, enums.WORKFLOW_EXECUTION_STATUS_FAILED, tr.status(""))
}

func playUnknown(tr *serverFixture) {
	tr.loaded.Settings.HeartbeatTimeout, tr.loaded.Settings.StartupTimeout = time.Second, time.Second
	tr.loaded.Settings.UnknownRetry = 100 * time.Millisecond
	asked := 0
	tr.observe = func(in contract.CheckAgentInput) contract.Observation {
		if asked++; asked == 3 {
			tr.events(in.SandboxID, 1, started(), completed(true))
		}
		return contract.Observation{Seen: contract.ObservedUnknown}
	}
	require.NoError(tr.t, tr.play())
	require.GreaterOrEqual(tr.t, asked, 3)
}

// The sandbox was frozen for an hour of an attempt that may last a second.
func playFrozen(tr *serverFixture) {
	tr.loaded.Settings.AttemptTimeout = time.Second
	tr.ledger = func(n int) contract.LoadedSandbox {
		if n == 1 {
			tr.events(tr.box(1), 1, started(), completed(true))
		}
		return contract.LoadedSandbox{Provider: task.ProviderLocal, Verify: true, SalvageWindow: 5 * time.Minute, Frozen: time.Hour}
	}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 1)
}

// The agent dies without an event, and its host asks for a check.
func playAgentEnded(tr *serverFixture) {
	tr.endsUnreported()
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
	require.Equal(tr.t, 2, tr.count(contract.CheckAgent))
}

func playProviderLimit(tr *serverFixture) {
	tr.spawned = func(n int, box string) {
		end := completed(true)
		if n == 1 {
			end = contract.Milestone{Type: event.AgentError, Class: task.ClassProviderLimit, ResetAt: tr.now().Add(time.Second)}
		}
		tr.after(time.Second, func() { tr.events(box, 1, started(), end) })
	}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
}

func playWaitsForSlot(tr *serverFixture) {
	tr.loaded.HoldsSlot = false
	tr.succeeds()
	tr.after(6*time.Second, func() { tr.signal(contract.SignalAdmitted, nil) })
	require.NoError(tr.t, tr.play())
}

func playSalvageLost(tr *serverFixture) {
	tr.succeeds()
	tr.fail[contract.Salvage] = []error{refusal(task.ClassInfrastructure)}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, 1, tr.count("settle salvage_lost"))
}

func playGoneLate(tr *serverFixture) {
	tr.succeeds()
	tr.lingers = 2
	require.NoError(tr.t, tr.play())
	require.Greater(tr.t, tr.count(contract.DeleteSandbox), 2)
}

// The next attempt starts between the two absence checks of the previous sandbox.
func playSecondAbsenceCheckLater(tr *serverFixture) {
	tr.loaded.Settings.RetryBase = 100 * time.Millisecond
	tr.ledger = lateCreates(2 * time.Second)
	tr.failsAttempts(1)
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
}

// A failed task closes between the two absence checks.
func playClosedBeforeSecondAbsenceCheck(tr *serverFixture) {
	tr.loaded.State.MaxRetries = 0
	tr.ledger = lateCreates(2 * time.Second)
	tr.failsAttempts(1)
	require.Error(tr.t, tr.play())
	require.Equal(tr.t, 1, tr.count("settle verified"))
}

// onQueue returns a sandbox whose activities run on a queue and must start soon.
func onQueue(queue string) contract.LoadedSandbox {
	return contract.LoadedSandbox{Provider: "local", Queue: queue, Verify: true, SalvageWindow: 5 * time.Minute, Pickup: time.Second}
}

// The sandbox is found elsewhere while its work is to be saved, and again while it is deleted.
func playHostOffline(tr *serverFixture) {
	tr.succeeds()
	tr.ledger = func(n int) contract.LoadedSandbox {
		box := onQueue("nobody")
		if box.Salvaged = n > 1; n > 2 {
			box.Queue = contract.QueueTasks
		}
		return box
	}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, 3, tr.count(contract.LoadSandbox))
	require.Equal(tr.t, 1, tr.count("settle verified"))
}

func playHostLost(tr *serverFixture) {
	tr.succeeds()
	tr.ledger = func(n int) contract.LoadedSandbox {
		box := onQueue("nobody")
		box.Lost = n > 1
		return box
	}
	require.NoError(tr.t, tr.play())
	run := tr.c.GetWorkflow(tr.t.Context(), contract.CleanupWorkflowID(tr.box(1)), "")
	require.ErrorContains(tr.t, tr.await(run, nil), "declared lost")
	require.Empty(tr.t, tr.cleaned)
	tr.cleaned = append(tr.cleaned, tr.box(1)) // record its history too
}

// serverFixture is a fixture on a real server, with its own task and its own worker.
type serverFixture struct {
	*fixture
	c         client.Client
	w         worker.Worker
	taskID    string
	firstRun  string
	signaling sync.Mutex // keeps the signals in the order of their timers, also on a slow server
}

func newServerFixture(t *testing.T, c client.Client, n int) *serverFixture {
	t.Helper()
	tr := &serverFixture{fixture: bareFixture(t), c: c, taskID: task.NewID()}
	tr.boxes = fmt.Sprintf("path%d-box", n)
	tr.loaded.Settings.CleanupWait = 10 * time.Second
	tr.now = time.Now
	tr.after = func(d time.Duration, fn func()) { time.AfterFunc(d/20, fn) }
	tr.signal = tr.signalTask
	tr.startWorker()
	t.Cleanup(func() { tr.w.Stop() })
	return tr
}

// signalTask signals the task. It runs in the goroutine of a timer, where a failed require would not end the test: it tries
// three times, and then terminates the workflow.
func (tr *serverFixture) signalTask(name string, arg any) {
	tr.signaling.Lock()
	defer tr.signaling.Unlock()
	var err error
	for range 3 {
		if err = tr.c.SignalWorkflow(tr.t.Context(), tr.workflowID(), "", name, arg); err == nil {
			return
		}
	}
	assert.NoError(tr.t, err)
	assert.NoError(tr.t, tr.c.TerminateWorkflow(tr.t.Context(), tr.workflowID(), "", "signal failed: "+name))
}

func (tr *serverFixture) workflowID() string { return contract.TaskWorkflowID(tr.taskID) }

// work starts a worker.
func (tr *serverFixture) startWorker() {
	tr.w = worker.New(tr.c, contract.QueueTasks, worker.Options{DeadlockDetectionTimeout: time.Minute, MaxHeartbeatThrottleInterval: 50 * time.Millisecond})
	registerWorkflows(tr.w)
	tr.register(tr.w)
	require.NoError(tr.t, tr.w.Start())
}

func registerWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.TaskWorkflow, workflow.RegisterOptions{Name: contract.TaskWorkflow})
	w.RegisterWorkflowWithOptions(workflows.SandboxCleanupWorkflow, workflow.RegisterOptions{Name: contract.CleanupWorkflow})
	w.RegisterWorkflowWithOptions(workflows.ReaperWorkflow, workflow.RegisterOptions{Name: contract.ReaperWorkflow})
	w.RegisterWorkflowWithOptions(workflows.PullRelayWorkflow, workflow.RegisterOptions{Name: contract.PullRelayWorkflow})
	w.RegisterWorkflowWithOptions(workflows.GuardianWorkflow, workflow.RegisterOptions{Name: contract.GuardianWorkflow})
	w.RegisterWorkflowWithOptions(workflows.ConductorWorkflow, workflow.RegisterOptions{Name: contract.ConductorWorkflow})
	w.RegisterWorkflowWithOptions(workflows.RetentionWorkflow, workflow.RegisterOptions{Name: contract.RetentionWorkflow})
}

// play runs the task to its end, over continue-as-new and reset.
func (tr *serverFixture) play() error {
	tr.t.Helper()
	run, err := tr.c.ExecuteWorkflow(tr.t.Context(), client.StartWorkflowOptions{
		ID: tr.workflowID(), TaskQueue: contract.QueueTasks, StaticSummary: "a test",
	}, contract.TaskWorkflow, contract.TaskInput{TaskID: tr.taskID, CommandID: "start"})
	require.NoError(tr.t, err)
	tr.firstRun = run.GetRunID()
	err = tr.await(run, nil)
	if _, terminated := errors.AsType[*temporal.TerminatedError](err); terminated { // by a reset
		err = tr.await(tr.c.GetWorkflow(tr.t.Context(), tr.workflowID(), ""), nil)
	}
	tr.waitForCleanups()
	return err
}

// await waits until a workflow has ended. One that takes minutes is stuck: its history says where.
func (tr *serverFixture) await(run client.WorkflowRun, result any) error {
	tr.t.Helper()
	ctx, cancel := context.WithTimeout(tr.t.Context(), 5*time.Minute)
	defer cancel()
	err := run.Get(ctx, result)
	if ctx.Err() != nil {
		for _, e := range tr.history(run.GetID(), "").GetEvents() {
			tr.t.Log(e.GetEventTime().AsTime(), e.GetEventType(), e.GetAttributes())
		}
		require.NoError(tr.t, err, "workflow %s is stuck", run.GetID())
	}
	return err
}

// waitForCleanups waits until the children have ended, so that their histories are complete.
func (tr *serverFixture) waitForCleanups() {
	for n := range len(tr.begun) + 1 {
		id := contract.CleanupWorkflowID(tr.box(tr.loaded.State.Attempts + n))
		_ = tr.await(tr.c.GetWorkflow(tr.t.Context(), id, ""), nil) // some must fail, others never started
	}
}

func (tr *serverFixture) reset() {
	_, err := tr.c.ResetWorkflowExecution(tr.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:                 "default",
		WorkflowExecution:         &common.WorkflowExecution{WorkflowId: tr.workflowID(), RunId: tr.currentRun()},
		Reason:                    "test",
		RequestId:                 task.NewID(),
		WorkflowTaskFinishEventId: 4, // after LoadTask was scheduled: the first workflow task's end is event 4
	})
	require.NoError(tr.t, err)
}

func (tr *serverFixture) currentRun() string {
	d, err := tr.c.DescribeWorkflowExecution(tr.t.Context(), tr.workflowID(), "")
	require.NoError(tr.t, err)
	return d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

func (tr *serverFixture) status(runID string) enums.WorkflowExecutionStatus {
	d, err := tr.c.DescribeWorkflowExecution(tr.t.Context(), tr.workflowID(), runID)
	require.NoError(tr.t, err)
	return d.GetWorkflowExecutionInfo().GetStatus()
}

// record writes the histories of the path: its first run, its last, and one cleanup.
func (tr *serverFixture) record(name string) {
	if os.Getenv("OMOI_RECORD") == "" || tr.firstRun == "" {
		return
	}
	tr.write("task", name, tr.workflowID(), tr.firstRun)
	if last := tr.currentRun(); last != tr.firstRun {
		tr.write("task", name+"-last", tr.workflowID(), last)
	}
	if len(tr.cleaned) > 0 {
		tr.write("cleanup", name, contract.CleanupWorkflowID(tr.cleaned[0]), "")
	}
	if tr.pulled {
		tr.write("pull-relay", name, contract.PullRelayWorkflowID(tr.cleaned[0]), "")
	}
}

func (tr *serverFixture) history(workflowID, runID string) *history.History {
	var h history.History
	events := tr.c.GetWorkflowHistory(tr.t.Context(), workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(tr.t, err)
		h.Events = append(h.Events, e)
	}
	return &h
}

func (tr *serverFixture) write(kind, name, workflowID, runID string) {
	raw, err := protojson.Marshal(tr.history(workflowID, runID))
	require.NoError(tr.t, err)
	var text bytes.Buffer
	require.NoError(tr.t, json.Indent(&text, raw, "", " ")) // protojson's own blanks differ from build to build
	file := filepath.Join(histories, kind, name+".json")
	require.NoError(tr.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(tr.t, os.WriteFile(file, text.Bytes(), 0o644))
}

// devServer starts the Temporal dev server, or skips loudly where there is none.
func devServer(t *testing.T) client.Client {
	t.Helper()
	binary := filepath.Join("..", "bin", "temporal")
	if _, err := os.Stat(binary); err != nil {
		if binary, err = exec.LookPath("temporal"); err != nil {
			t.Skip("SKIPPED: no temporal binary in bin/ or on PATH; `make bin/temporal` builds it")
		}
	}
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath: binary, LogLevel: "error",
		ClientOptions: &client.Options{Identity: "omoi-test", Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	return server.Client()
}
