package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// testRun is the run id that the SDK's test environment gives.
const testRun = "default-test-run-id"

const (
	taskID = "0198c0de-0000-7000-8000-000000000001"
	boxID  = "abcdefghijklmnopqrstuvwxyz"
)

// bench is the activities over fakes: one task with a repository, one sandbox intended.
type bench struct {
	*testing.T

	id       string   // of the sandbox
	woken    []string // tasks that readers were told of
	cfg      activities.Config
	store    *fakeStore
	runs     *fakeRuns
	provider *fakeProvider
	git      *fakeHost
	api      http.RoundTripper // nil: this worker carries for nobody
	made     *activities.Activities
	logs     *logs // nil: nobody keeps any
	onBeat   func(details converter.EncodedValues)
	claims   bool // the agent reports a passed validation of its own
	// completes says that the agent reports completion in single-run mode.
	completes bool
	cut       int // activities that Temporal cut off

	credentials activities.Credentials // nil: nobody is given any
}

// requires sets a variable of the task's execution config.
func (b *bench) requires(name, value string) {
	b.store.work.Execution.Env = map[string]string{name: value}
}

type tokens struct{}

func (tokens) Mint(id string) string { return "v1.key." + strings.Repeat("m", 20) + id }

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{
		T:  t,
		id: boxID,
		cfg: activities.Config{
			HostID: "h1", APIURL: "http://127.0.0.1:18000/", Network: sandbox.NetworkHost, IdleTimeout: 10 * time.Minute, ToolTimeout: 30 * time.Minute,
			AgentHeartbeat: 30 * time.Second, CheckpointInterval: 7 * time.Second, StopGrace: 10 * time.Second, AuthorName: "omoi", AuthorEmail: "omoi@localhost", PullInterval: time.Second,
			Grace: 2 * time.Minute, Overdue: 30 * time.Minute,
		},
		store: &fakeStore{
			work: task.Work{
				TaskID: taskID, Key: "APP-12", TicketID: "tick", ProjectID: "proj", Title: "Compute it", Description: "C(50,25)",
				Mode: "implementation", Agent: task.AgentScripted, Provider: task.ProviderLocal,
				Repo: "/srv/repo", DefaultBranch: "main", Branch: "feature/tick-1", Base: "base0", Attempt: 1,
			},
			rows: map[string]task.Sandbox{boxID: {
				ID: boxID, Provider: task.ProviderLocal, HostID: "h1", TaskID: taskID, Attempt: 1, State: task.SandboxIntended,
			}},
			pulse: task.Pulse{Started: -1, Beat: -1, Work: -1, Waiting: -1},
			rest:  []bool{true},
		},
		runs:     &fakeRuns{open: map[string]bool{}},
		provider: newProvider(),
		git: &fakeHost{
			branches: map[string]string{taskID: "feature/tick-1"}, heads: map[string]string{}, rescued: map[string]string{}, ahead: 2,
		},
	}
}

// activities makes them once, with what the test has set until then.
func (b *bench) activities() *activities.Activities {
	if b.made == nil {
		deps := activities.Deps{
			Wake:  func(taskID string) { b.woken = append(b.woken, taskID) },
			Tasks: b.store, Tests: b.store, Ledger: b.store, Texts: b.store, Fleet: b.store, Reconciler: b.store, Runs: b.runs, Git: b.git, Tokens: tokens{}, API: b.api,
			Providers: providers{task.ProviderLocal: b.provider},
			Agents: func(arch string) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("program for " + arch)), nil
			},
		}
		deps.CutOff = func(string) { b.cut++ }
		if b.logs != nil {
			deps.Logs = b.logs
		}
		if b.credentials != nil {
			deps.Credentials = b.credentials
		}
		b.made = activities.New(b.cfg, deps)
	}
	return b.made
}

// env is an SDK environment with the translation of errors in place.
func (b *bench) env() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetExecuteActivitiesInWorkflow(true)
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{b.activities().Errors()}})
	if b.onBeat != nil {
		env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) { b.onBeat(details) })
	}
	return env
}

// heartbeats collects the resume points that the next activities tell.
func heartbeats[T any](b *bench) func() []T {
	var mu sync.Mutex
	var points []T
	b.onBeat = func(details converter.EncodedValues) {
		mu.Lock()
		defer mu.Unlock()
		var point T
		if details.Get(&point) == nil {
			points = append(points, point)
		}
	}
	return func() []T {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(points)
	}
}

// execute runs one activity in env and decodes its answer.
func execute[Out any](env *testsuite.TestActivityEnvironment, fn any, in ...any) (out Out, err error) {
	env.RegisterActivity(fn)
	var value converter.EncodedValue
	if value, err = env.ExecuteActivity(fn, in...); err != nil {
		return out, err
	}
	if value.HasValue() {
		err = value.Get(&out)
	}
	return out, err
}

// do runs one activity on fresh env.
func do[Out any](b *bench, fn any, in ...any) (Out, error) {
	b.Helper()
	return execute[Out](b.env(), fn, in...)
}

// act runs an activity that returns only an error.
func act(b *bench, fn any, in ...any) error {
	b.Helper()
	_, err := do[any](b, fn, in...)
	return err
}

func (b *bench) ref() contract.SandboxRef {
	return contract.SandboxRef{TaskID: taskID, SandboxID: b.id, Attempt: 1}
}

// start is what StartAgent is asked.
func (b *bench) start() contract.StartAgentInput {
	return contract.StartAgentInput{SandboxRef: b.ref(), Assignment: contract.Projection{TaskID: b.ref().TaskID, Status: task.StatusAssigned}}
}

// running puts a sandbox with a started agent in place.
func (b *bench) running() *box {
	b.Helper()
	require.NoError(b, act(b, b.activities().EnsureSandbox, b.ref()))
	require.NoError(b, act(b, b.activities().StartAgent, b.start()))
	return b.provider.boxes[boxID]
}

// collects has `omoi-agent collect` answer got, with a bundle and a patch in place.
func (b *bench) collects(got agentconfig.Collected) {
	b.provider.onExec = func(at *box, args []string) (sandbox.ExecResult, error) {
		if args[1] != "collect" {
			return sandbox.ExecResult{ExitCode: 2}, nil
		}
		at.files[agentconfig.OutBundle], at.files[agentconfig.OutPatch] = []byte("work"), []byte("patch")
		text, err := json.Marshal(got)
		return sandbox.ExecResult{Stdout: text}, err
	}
}

// refused reads what a history would keep of err.
func refused(t *testing.T, err error) (*temporal.ApplicationError, contract.ErrorDetails) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	var details contract.ErrorDetails
	require.NoError(t, app.Details(&details))
	return app, details
}

var errDown = task.Errorf(task.CodeUnavailable, "the provider is down").WithCause(errors.Join(context.DeadlineExceeded))
