package workflows_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/workflows"
)

const taskID = "01900000-0000-7000-8000-000000000001"

// fixture runs a task's workflow with fake activities, which record their inputs and return what a test sets.
type fixture struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment // nil on a real server

	now    func() time.Time
	after  func(d time.Duration, fn func()) // calls fn in the workflow's time
	signal func(name string, arg any)

	mu       sync.Mutex
	calls    []string
	projects []contract.Projection
	begun    []contract.BeginAttemptInput
	cleaned  []string
	onBranch func()
	claimed  []bool // SandboxRef.Claimed of each CollectWork
	reported []bool // SandboxRef.Completed of each CollectWork
	tested   bool   // the task has a test command that is repeated
	repeated []contract.RepeatTestsInput

	loaded  contract.LoadedTask
	unread  map[string]contract.Digest // what LoadEvents answers, by sandbox
	fail    map[string][]error         // errors of the next calls, by activity
	observe func(contract.CheckAgentInput) contract.Observation
	spawned func(number int, sandboxID string) // called when an agent was started
	boxes   string
	ledger  func(n int) contract.LoadedSandbox                               // the nth answer of LoadSandbox
	left    map[string]int                                                   // the look at which a sandbox of an earlier run is verified
	lingers int                                                              // looks that still see a deleted sandbox
	granted bool                                                             // what a slot request answers
	pulled  bool                                                             // agents reach nothing
	turn    func(ctx context.Context, n int) (contract.PullRelayTurn, error) // what the nth turn of a pull relay does
	report  contract.CycleReport                                             // of the guardian's last cycle
	// conducted is the report of the conductor's last cycle.
	conducted contract.CycleReport
	// validators are the validators' sandboxes that give verdicts, by command ID.
	validators map[string]string
	// checkpoints are the checkpoints of rewinds, by command ID.
	checkpoints map[string]string
	branchedAt  []string // checkpoint of each call of EnsureBranch
	// senders are the other senders of verdicts, by command ID.
	senders  map[string]string
	starting func(context.Context) // called while an agent is being started
	// repeating is called while the tests are repeated.
	repeating func(context.Context)
	fenced    bool
	foreign   bool // another run wrote the row, until this one has projected
	// overtaken reports that another run wrote the row after the run that this run continues.
	overtaken bool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s := bareFixture(t)
	s.env = suite.NewTestWorkflowEnvironment()
	s.now, s.signal = s.env.Now, s.env.SignalWorkflow
	s.after = func(d time.Duration, fn func()) { s.env.RegisterDelayedCallback(fn, d) }
	s.env.SetTestTimeout(time.Minute)
	s.env.SetWorkerOptions(workerOptions())
	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: contract.TaskWorkflowID(taskID)}) // which its children signal
	s.env.RegisterWorkflowWithOptions(workflows.TaskWorkflow, workflow.RegisterOptions{Name: contract.TaskWorkflow})
	s.env.RegisterWorkflowWithOptions(workflows.SandboxCleanupWorkflow, workflow.RegisterOptions{Name: contract.CleanupWorkflow})
	s.env.RegisterWorkflowWithOptions(workflows.ReaperWorkflow, workflow.RegisterOptions{Name: contract.ReaperWorkflow})
	s.env.RegisterWorkflowWithOptions(workflows.PullRelayWorkflow, workflow.RegisterOptions{Name: contract.PullRelayWorkflow})
	s.env.RegisterWorkflowWithOptions(workflows.GuardianWorkflow, workflow.RegisterOptions{Name: contract.GuardianWorkflow})
	s.env.RegisterWorkflowWithOptions(workflows.ConductorWorkflow, workflow.RegisterOptions{Name: contract.ConductorWorkflow})
	s.env.RegisterWorkflowWithOptions(workflows.RetentionWorkflow, workflow.RegisterOptions{Name: contract.RetentionWorkflow})
	s.register(s.env)
	return s
}

// bareFixture returns a fixture without a server: one task that holds its slot.
func bareFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{t: t, unread: map[string]contract.Digest{}, fail: map[string][]error{}, validators: map[string]string{}, checkpoints: map[string]string{}, granted: true, boxes: "box"}
	s.loaded = contract.LoadedTask{
		HoldsSlot: true, Agent: task.AgentScripted, Provider: task.ProviderLocal, HasRepo: true,
		State: task.State{Status: task.StatusPending, MaxRetries: 3},
		Settings: contract.Settings{
			StartupTimeout: 3 * time.Minute, HeartbeatTimeout: 2 * time.Minute, NoWorkTimeout: 15 * time.Minute,
			IdleTimeout: 10 * time.Minute, AttemptTimeout: 4 * time.Hour, ToolTimeout: 30 * time.Minute,
			RetryBase: 5 * time.Second, LimitWait: 5 * time.Minute, CleanupWait: 2 * time.Minute,
			UnknownRetry: 10 * time.Second, SpawnTimeout: 10 * time.Minute, MaxSignals: 2000,
		},
	}
	s.observe = func(contract.CheckAgentInput) contract.Observation {
		return contract.Observation{Seen: contract.ObservedUnknown}
	}
	return s
}

// activityRegistry is implemented by a worker and by the test environment.
type activityRegistry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

func (s *fixture) register(registry activityRegistry) {
	on := func(name string, fn any) {
		registry.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
	on(contract.LoadTask, func(_ context.Context, ref contract.TaskRef) (contract.LoadedTask, error) {
		err := s.called(contract.LoadTask)
		s.mu.Lock()
		defer s.mu.Unlock()
		if ref.Continues != "" && !s.overtaken {
			return contract.LoadedTask{Continues: true}, err
		}
		return s.loaded, err
	})
	on(contract.SaveTaskState, func(_ context.Context, p contract.Projection) (contract.Projected, error) {
		err := s.called(contract.SaveTaskState)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.projects = append(s.projects, p)
		}
		return contract.Projected{Fenced: s.fenced, HoldsSlot: p.RequestSlot && s.granted}, err
	})
	on(contract.BeginAttempt, func(_ context.Context, in contract.BeginAttemptInput) (contract.BeginAttemptResult, error) {
		err := s.called(contract.BeginAttempt)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begun = append(s.begun, in)
		if s.foreign && len(s.projects) == 0 {
			s.begun = nil
			return contract.BeginAttemptResult{Fenced: true}, err
		}
		n := len(s.begun) + s.loaded.State.Attempts
		return contract.BeginAttemptResult{LiveAttempt: contract.LiveAttempt{
			Number: n, SandboxID: s.box(n), Provider: "local", Validates: in.Kind == task.KindValidation,
		}}, err
	})
	on(contract.LoadCommand, func(_ context.Context, in contract.LoadCommandInput) (contract.LoadedCommand, error) {
		id := in.Command.ID
		if id == "" {
			id = "from-cli"
		}
		s.mu.Lock()
		box, checkpoint := s.validators[id], s.checkpoints[id]
		s.mu.Unlock()
		taken := contract.LoadedCommand{ID: id, Kind: in.Command.Kind, Reason: in.Command.Reason, OK: in.Command.Reason == "ok", SandboxID: box, Checkpoint: checkpoint}
		taken.From = s.senders[id]
		if (box != "" || taken.From != "") && !taken.OK {
			taken.FeedbackID = "feedback-" + id
		}
		return taken, s.called(contract.LoadCommand)
	})
	on(contract.LoadEvents, func(_ context.Context, in contract.LoadEventsInput) (contract.Digest, error) {
		return s.unread[in.SandboxID], s.called(contract.LoadEvents)
	})
	on(contract.EnsureBranch, func(_ context.Context, in contract.EnsureBranchInput) (contract.BranchResult, error) {
		err := s.called(contract.EnsureBranch)
		s.mu.Lock()
		s.branchedAt = append(s.branchedAt, in.Checkpoint)
		s.mu.Unlock()
		if s.onBranch != nil {
			s.onBranch()
		}
		return contract.BranchResult{Branch: "feature/x", Base: "c0ffee"}, err
	})
	on(contract.PublishBranch, func(context.Context, contract.BranchInput) error { return s.called(contract.PublishBranch) })
	on(contract.OpenPullRequest, func(context.Context, contract.PullInput) (contract.PullResult, error) {
		return contract.PullResult{Number: 7, URL: "https://git/pull/7"}, s.called(contract.OpenPullRequest)
	})
	s.registerSandbox(on)
	s.registerGuardian(on)
	s.registerConductor(on)
	s.registerRetention(on)
}

func (s *fixture) registerSandbox(on func(string, any)) {
	on(contract.EnsureSandbox, func(context.Context, contract.SandboxRef) (contract.SpawnedSandbox, error) {
		return contract.SpawnedSandbox{Pulled: s.pulled}, s.called(contract.EnsureSandbox)
	})
	on(contract.RelaySandbox, func(ctx context.Context, _ contract.SandboxRef) (contract.PullRelayTurn, error) {
		if err := s.called(contract.RelaySandbox); err != nil || s.turn == nil {
			return contract.PullRelayTurn{Over: "gone"}, err
		}
		return s.turn(ctx, s.count(contract.RelaySandbox))
	})
	on(contract.FlushSpool, func(context.Context, contract.SandboxRef) error { return s.called(contract.FlushSpool) })
	on(contract.StartAgent, func(ctx context.Context, in contract.StartAgentInput) (contract.Projected, error) {
		if err := s.called(contract.StartAgent); err != nil {
			return contract.Projected{}, err
		}
		s.mu.Lock()
		s.projects = append(s.projects, in.Assignment)
		s.mu.Unlock()
		if s.starting != nil {
			s.starting(ctx)
		}
		if s.spawned != nil {
			s.spawned(in.Attempt, in.SandboxID)
		}
		return contract.Projected{Fenced: s.fenced}, nil
	})
	on(contract.StopAgent, func(context.Context, contract.SandboxRef) error { return s.called(contract.StopAgent) })
	on(contract.CheckAgent, func(_ context.Context, in contract.CheckAgentInput) (contract.Observation, error) {
		return s.observe(in), s.called(contract.CheckAgent)
	})
	on(contract.CollectWork, func(_ context.Context, in contract.SandboxRef) (contract.Collected, error) {
		s.mu.Lock()
		s.claimed, s.reported = append(s.claimed, in.Claimed), append(s.reported, in.Completed)
		s.mu.Unlock()
		return contract.Collected{Head: "beef", Commits: 1, RepeatTests: s.tested}, s.called(contract.CollectWork)
	})
	on(contract.RepeatTests, func(ctx context.Context, in contract.RepeatTestsInput) (contract.RepeatedTests, error) {
		if s.repeating != nil {
			s.repeating(ctx)
		}
		s.mu.Lock()
		s.repeated = append(s.repeated, in)
		s.mu.Unlock()
		return contract.RepeatedTests{Outcome: task.TestsGreen}, s.called(contract.RepeatTests)
	})
	on(contract.LoadSandbox, func(_ context.Context, ref contract.SandboxRef) (contract.LoadedSandbox, error) {
		err := s.called(contract.LoadSandbox)
		s.mu.Lock()
		looks, left := s.left[ref.SandboxID]
		if left {
			s.left[ref.SandboxID]--
		}
		s.mu.Unlock()
		if left {
			return contract.LoadedSandbox{Provider: "daytona", Verify: true, Verified: looks <= 1}, err
		}
		if s.ledger != nil {
			return s.ledger(s.count(contract.LoadSandbox)), err
		}
		return contract.LoadedSandbox{Provider: "local", Verify: true, SalvageWindow: 5 * time.Minute, Pulled: s.pulled}, err
	})
	on(contract.Salvage, func(context.Context, contract.SandboxRef) (contract.SalvageResult, error) {
		return contract.SalvageResult{Kind: task.SalvageRef, Files: 1}, s.called(contract.Salvage)
	})
	on(contract.DeleteSandbox, func(_ context.Context, ref contract.SandboxRef) error {
		s.mu.Lock()
		s.cleaned = append(s.cleaned, ref.SandboxID)
		s.mu.Unlock()
		return s.called(contract.DeleteSandbox)
	})
	on(contract.VerifyDeleted, func(context.Context, contract.SandboxRef) (contract.VerifyDeletedResult, error) {
		err := s.called(contract.VerifyDeleted)
		return contract.VerifyDeletedResult{Gone: s.count(contract.VerifyDeleted) > s.lingers}, err
	})
	on(contract.RecordSandboxState, func(_ context.Context, in contract.RecordSandboxStateInput) error {
		return s.called("settle " + in.Event)
	})
}

// called records a call and returns the next error that a test set for it.
func (s *fixture) called(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
	errs := s.fail[name]
	if len(errs) == 0 {
		return nil
	}
	s.fail[name] = errs[1:]
	return errs[0]
}

func (s *fixture) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if c == name {
			n++
		}
	}
	return n
}

// run executes the task's workflow to its end.
func (s *fixture) run() (contract.TaskResult, error) {
	s.t.Helper()
	s.env.ExecuteWorkflow(contract.TaskWorkflow, contract.TaskInput{TaskID: taskID, CommandID: "start"})
	require.True(s.t, s.env.IsWorkflowCompleted())
	var result contract.TaskResult
	if err := s.env.GetWorkflowError(); err != nil {
		return result, err
	}
	require.NoError(s.t, s.env.GetWorkflowResult(&result))
	return result, nil
}

// events signals a digest of the given milestones, as the relay does.
func (s *fixture) events(sandboxID string, from int64, milestones ...contract.Milestone) {
	for i := range milestones {
		milestones[i].Sequence = from + int64(i)
	}
	now := s.now()
	s.signal(contract.SignalSandboxEvents, contract.Digest{
		SandboxID: sandboxID, From: from, To: from + int64(max(len(milestones), 1)) - 1,
		Counters:      map[string]int64{"work": from + int64(max(len(milestones), 1)) - 1},
		LastHeartbeat: now, LastWork: now, LastType: "agent.tool_use", Milestones: milestones,
	})
}

func (s *fixture) command(kind, id, reason string) {
	s.signal(contract.SignalCommand, contract.Command{ID: id, Kind: kind, Reason: reason})
}

// last returns the newest projection.
func (s *fixture) last() contract.Projection {
	s.t.Helper()
	require.NotEmpty(s.t, s.projects)
	return s.projects[len(s.projects)-1]
}

// statuses returns the projected statuses, each change once.
func (s *fixture) statuses() []task.Status {
	var out []task.Status
	for _, p := range s.projects {
		if len(out) == 0 || out[len(out)-1] != p.Status {
			out = append(out, p.Status)
		}
	}
	return out
}

// receipts returns the projected outcomes of commands, by command ID.
func (s *fixture) receipts() map[string]task.Receipt {
	out := make(map[string]task.Receipt)
	for _, p := range s.projects {
		for _, c := range p.Settle {
			out[c.CommandID] = c.Receipt
		}
	}
	return out
}

// box returns the sandbox ID of attempt n.
func (s *fixture) box(n int) string { return s.boxes + string(rune('0'+n)) }

func started() contract.Milestone { return contract.Milestone{Type: event.AgentStarted} }

func completed(ok bool) contract.Milestone {
	return contract.Milestone{Type: event.AgentCompleted, OK: ok, Class: ""}
}

func agentError(c task.FailureClass) contract.Milestone {
	return contract.Milestone{Type: event.AgentError, Class: c, ErrorID: "error-1"}
}

// refusal returns a non-retryable error of an activity.
func refusal(class task.FailureClass) error {
	return temporal.NewNonRetryableApplicationError("it was refused", string(class), nil)
}
