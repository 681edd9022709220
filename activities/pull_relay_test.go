package activities_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// newPuller is a bench whose agents reach nothing, and whose pull relays have short turns.
func newPuller(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.cfg.Pull, b.cfg.PullTurn, b.cfg.PullInterval = []string{task.ProviderLocal}, 50*time.Millisecond, time.Millisecond
	b.api = http.DefaultTransport
	return b
}

func (b *bench) relay() contract.PullRelayTurn {
	b.Helper()
	turn, err := do[contract.PullRelayTurn](b, b.activities().RelaySandbox, b.ref())
	require.NoError(b, err)
	return turn
}

func TestStartAgent_ConfiguresThePullTransport(t *testing.T) {
	t.Parallel()
	b := newPuller(t)
	b.running()
	cfg := b.agentConfig()
	require.Equal(t, "file:///omoi/post", cfg.APIURL)
	require.Empty(t, cfg.Token, "the pull relay has it")
	made, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref())
	require.NoError(t, err)
	require.True(t, made.Pulled)
	box, err := do[contract.LoadedSandbox](b, b.activities().LoadSandbox, b.ref())
	require.NoError(t, err)
	require.True(t, box.Pulled)
}

// How a sandbox reports is decided when it is made: a worker with other settings keeps to it.
func TestTransport_IsFixedAtCreation(t *testing.T) {
	t.Parallel()
	for made, now := range map[string][]string{task.TransportPull: nil, task.TransportPush: {task.ProviderLocal}} {
		b := newPuller(t)
		b.cfg.Pull = now
		row := b.store.rows[boxID]
		row.Transport, row.State = made, task.SandboxRunning
		b.store.rows[boxID] = row
		box, err := do[contract.LoadedSandbox](b, b.activities().LoadSandbox, b.ref())
		require.NoError(t, err)
		require.Equal(t, made == task.TransportPull, box.Pulled)
		again, err := do[contract.SpawnedSandbox](b, b.activities().EnsureSandbox, b.ref()) // the first answer was lost
		require.NoError(t, err)
		require.Equal(t, made == task.TransportPull, again.Pulled)
		require.Equal(t, made, b.store.rows[boxID].Transport)
	}
}

func TestLegacyWorker_WithPullTransportGetsNoTokenInItsURL(t *testing.T) {
	t.Parallel()
	b := newPuller(t)
	b.store.work.Agent = task.AgentCommand
	b.running()
	require.Equal(t, "file:///omoi/post", b.agentConfig().Env["CALLBACK_URL"])
}

func TestPullRelay_SurvivesAnUnreachableProvider(t *testing.T) {
	t.Parallel()
	b := newPuller(t)
	b.running()
	b.provider.down = errDown
	require.Empty(t, b.relay().Over)
}

func TestPullRelay_EndsWithItsSandbox(t *testing.T) {
	t.Parallel()
	b := newPuller(t)
	require.Equal(t, "the sandbox is gone", b.relay().Over)
	require.Equal(t, 1, b.runs.count("look "+boxID), "the task's workflow looks at once")
}

func TestPullRelay_EndsAfterTheLastEventOfItsAgent(t *testing.T) {
	t.Parallel()
	for _, exit := range []int{1, 0} {
		b := newPuller(t)
		at := b.running()
		require.Empty(t, b.relay().Over, "the agent lives")
		at.agent = sandbox.StateGone
		b.provider.onExec = func(_ *box, args []string) (sandbox.ExecResult, error) {
			require.Equal(t, []string{sandbox.AgentPath, "flush", "--config", "/omoi/agent.json"}, args)
			return sandbox.ExecResult{ExitCode: exit}, nil
		}
		require.Equal(t, exit == 0, b.relay().Over == "the agent has ended")
	}
}

func TestPullRelay_EndsByTheLedger(t *testing.T) {
	t.Parallel()
	b := newPuller(t)
	b.running()
	row := b.store.rows[boxID]
	row.State = task.SandboxGone
	b.store.rows[boxID] = row
	require.Equal(t, "the sandbox is gone", b.relay().Over, "also where the provider still has it")
}

func TestFlushSpool(t *testing.T) {
	t.Parallel()
	b := newPuller(t)
	require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.NoError(t, act(b, b.activities().FlushSpool, b.ref()), "no agent was there")
	at, exit := b.running(), 1
	b.provider.onExec = func(*box, []string) (sandbox.ExecResult, error) {
		return sandbox.ExecResult{ExitCode: exit, Stderr: []byte("the spool is locked")}, nil
	}
	require.ErrorContains(t, act(b, b.activities().FlushSpool, b.ref()), "the spool is locked")
	require.Equal(t, sandbox.StateGone, at.agent, "nothing more is said meanwhile")
	read := contract.RecordSandboxStateInput{SandboxID: boxID, Event: "read"}
	require.Equal(t, []contract.RecordSandboxStateInput{read}, b.store.settled, "what failed is not noted")
	exit = 0
	require.NoError(t, act(b, b.activities().FlushSpool, b.ref()))
	require.Equal(t, []contract.RecordSandboxStateInput{read, read}, b.store.settled)
	delete(b.provider.boxes, boxID)
	_, details := refused(t, act(b, b.activities().FlushSpool, b.ref()))
	require.Equal(t, task.CodeGone, details.Code)
}
