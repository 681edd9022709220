package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func (b *bench) question() contract.CheckAgentInput {
	return contract.CheckAgentInput{SandboxRef: b.ref(), Question: contract.AskHeartbeat, Threshold: time.Minute, Tool: time.Hour}
}

// silent has the sandbox run and say nothing for an hour.
func (b *bench) silent() *box {
	b.Helper()
	at := b.running()
	b.store.pulse = task.Pulse{Head: 9, Assigned: time.Hour, Started: time.Hour, Beat: time.Hour, Work: time.Hour, Waiting: -1}
	return at
}

func (b *bench) observe() contract.Observation {
	b.Helper()
	out, err := do[contract.Observation](b, b.activities().CheckAgent, b.question())
	require.NoError(b, err, "an observation has no error of its own")
	return out
}

func TestObserve_AsksTheProviderOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.silent()
	b.store.pulse.Beat = 10 * time.Second
	before := b.provider.count("inspect")
	require.Equal(t, contract.Observation{Seen: contract.ObservedWorking, Next: 50 * time.Second, LastSequence: 9}, b.observe())
	require.Equal(t, before, b.provider.count("inspect"))
}

// What arrives while the provider is asked counts: the verdict is on the newest facts, and
// tells the workflow of events that it has not seen.
func TestObserve_CountsEventsThatArriveMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.silent()
	b.provider.onExec = func(*box, []string) (sandbox.ExecResult, error) {
		b.store.pulse.Head, b.store.pulse.Beat = 12, 0
		return sandbox.ExecResult{Stdout: []byte(`{"unsent":0,"newest_age_ms":3600000,"agent_alive":true}`)}, nil
	}
	require.Equal(t, contract.Observation{Seen: contract.ObservedWorking, Next: time.Minute, LastSequence: 12}, b.observe())
}

func TestObserve_ChecksTheSpool(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer sandbox.ExecResult
		err    error
		seen   string
	}{
		"nothing unsent":   {sandbox.ExecResult{Stdout: []byte(`{"unsent":0,"newest_age_ms":3600000,"agent_alive":true}`)}, nil, contract.ObservedSilent},
		"cannot reach us":  {sandbox.ExecResult{Stdout: []byte(`{"unsent":4,"newest_age_ms":1,"agent_alive":true}`)}, nil, contract.ObservedUnknown},
		"dead":             {sandbox.ExecResult{Stdout: []byte(`{"unsent":4,"newest_age_ms":1}`)}, nil, contract.ObservedSilent},
		"program is gone":  {sandbox.ExecResult{ExitCode: 127}, nil, contract.ObservedSilent},
		"program babbles":  {sandbox.ExecResult{Stdout: []byte(`hello`)}, nil, contract.ObservedSilent},
		"cannot be looked": {sandbox.ExecResult{}, errDown, contract.ObservedUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.silent()
			b.provider.onExec = func(_ *box, args []string) (sandbox.ExecResult, error) {
				require.Equal(t, []string{sandbox.AgentPath, "probe", "--dir", "/omoi"}, args)
				return c.answer, c.err
			}
			require.Equal(t, c.seen, b.observe().Seen)
		})
	}
}

func TestObserve_UnknownIsNeverGone(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(*bench){
		"store down":      func(b *bench) { b.store.pulseErr = errors.New("database is down") },
		"provider down":   func(b *bench) { b.provider.down = errDown },
		"another host":    func(b *bench) { b.cfg.HostID = "h2"; b.made = nil },
		"no such row":     func(b *bench) { delete(b.store.rows, boxID) },
		"answer was lost": func(b *bench) { b.provider.loseAnswerOf("inspect") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.silent()
			breaks(b)
			out := b.observe()
			require.Equal(t, contract.ObservedUnknown, out.Seen)
			require.Empty(t, out.Class)
		})
	}
}

func TestObserve_SeesTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(*bench, *box)
		seen  string
		class task.FailureClass
	}{
		"removed":       {func(b *bench, _ *box) { delete(b.provider.boxes, boxID) }, contract.ObservedGone, task.ClassInfrastructure},
		"agent exited":  {func(_ *bench, at *box) { at.agent, at.exit = sandbox.StateGone, 3 }, contract.ObservedExited, task.ClassAgentError},
		"agent killed":  {func(_ *bench, at *box) { at.agent, at.exit = sandbox.StateGone, -1 }, contract.ObservedExited, task.ClassInfrastructure},
		"out of memory": {func(_ *bench, at *box) { at.agent, at.exit, at.oom = sandbox.StateGone, -1, true }, contract.ObservedExited, task.ClassResources},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c.end(b, b.silent())
			out := b.observe()
			require.Equal(t, c.seen, out.Seen)
			require.Equal(t, c.class, out.Class)
			require.Equal(t, int64(9), out.LastSequence)
			require.Zero(t, b.provider.count("exec probe"), "nobody is left to be asked")
		})
	}
}

func TestObserve_ExternalAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.silent()
	b.provider.caps = sandbox.Capabilities{}
	b.provider.down = errDown
	require.Equal(t, contract.ObservedSilent, b.observe().Seen, "heartbeats alone decide")
}

func TestObserve_RecordsItsUncertainty(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.silent()
	b.provider.down = errDown
	b.observe()
	b.store.pulse.Beat = 0
	b.observe()
	require.Equal(t, []task.Reason{{Code: task.ReasonProviderUnreachable}, {}}, b.store.doubts)
}

// An observation says what to do about an agent that cannot reach the API, and why a provider cannot be asked.
func TestObserve_UncertaintyNamesTheNextStep(t *testing.T) {
	t.Parallel()
	for transport, advice := range map[string]string{
		task.TransportPush: "if its network keeps it from that, set OMOI_TRANSPORT_LOCAL=pull for omoi worker " +
			"and start it again, then `omoi cancel " + taskID + "` and `omoi retry " + taskID + "`",
		task.TransportPull: "",
	} {
		b := newBench(t)
		b.silent()
		row := b.store.rows[boxID]
		row.Transport = transport
		b.store.rows[boxID] = row
		b.provider.onExec = func(*box, []string) (sandbox.ExecResult, error) {
			return sandbox.ExecResult{Stdout: []byte(`{"unsent":4,"newest_age_ms":1,"agent_alive":true}`)}, nil
		}
		why := task.Reason{Code: task.ReasonEventsUnsent, Detail: advice}
		require.Equal(t, why, b.observe().EndReason)
		require.Equal(t, why, b.store.doubts[0])
	}
	b := newBench(t)
	b.silent()
	b.provider.unsure = "no key\nis configured"
	require.Equal(t, task.Reason{Code: task.ReasonProviderUnreachable, Detail: "no key is configured"}, b.observe().EndReason)
}

// Asked whether a sandbox has ended, an observation says so however lately it was heard, and nothing else.
func TestObserve_RequestedCheckOfAnEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := b.silent()
	b.store.pulse.Beat = 0
	ended := func() contract.Observation {
		in := b.question()
		in.Question = contract.AskEnded
		out, err := do[contract.Observation](b, b.activities().CheckAgent, in)
		require.NoError(t, err)
		return out
	}
	none := contract.Observation{Seen: contract.ObservedUnknown, LastSequence: 9}
	require.Equal(t, none, ended(), "it lives")
	b.provider.unsure = "the engine is away"
	require.Equal(t, none, ended(), "nobody knows")
	b.provider.unsure = ""
	at.agent, at.exit = sandbox.StateGone, -1
	out := ended()
	require.Equal(t, contract.ObservedExited, out.Seen)
	require.Equal(t, task.ClassInfrastructure, out.Class)
	require.Equal(t, task.ReasonKilled, out.EndReason.Code)
	delete(b.provider.boxes, boxID)
	require.Equal(t, contract.ObservedGone, ended().Seen)
}
