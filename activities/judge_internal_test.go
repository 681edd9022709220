package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	never  = -1 * time.Nanosecond
	minute = time.Minute
)

func alive() sandbox.Inspection {
	return sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateAlive, Started: true}
}

func exited(code int) sandbox.Inspection {
	return sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateGone, Started: true, ExitCode: code}
}

// silence is a pulse of an attempt that reported in an hour ago and has said nothing since.
func silence() task.Pulse {
	return task.Pulse{Head: 7, Assigned: 61 * minute, Started: 60 * minute, Beat: 59 * minute, Work: 59 * minute, Waiting: never}
}

func with(p task.Pulse, change func(*task.Pulse)) task.Pulse {
	change(&p)
	return p
}

func TestJudge(t *testing.T) {
	t.Parallel()
	ask := func(question string, pulse task.Pulse, seen sandbox.Inspection) evidence {
		return evidence{question: question, threshold: 10 * minute, tool: 30 * minute, pulse: pulse, machine: true, seen: seen}
	}
	outside := func(question string, pulse task.Pulse) evidence {
		return evidence{question: question, threshold: 10 * minute, tool: 30 * minute, pulse: pulse}
	}
	probed := func(e evidence, p *spool.Probe) evidence {
		e.probe = p
		return e
	}
	blind := func(e evidence) evidence {
		e.blind = true
		return e
	}
	beats := with(silence(), func(p *task.Pulse) { p.Beat = minute })
	unreported := task.Pulse{Assigned: 11 * minute, Started: never, Beat: never, Work: never, Waiting: never}
	waits := with(beats, func(p *task.Pulse) { p.Waiting = 12 * minute })
	gone := sandbox.Inspection{State: sandbox.StateGone, Agent: sandbox.StateGone}
	unknown := sandbox.Inspection{State: sandbox.StateUnknown, Agent: sandbox.StateUnknown}

	for name, c := range map[string]struct {
		e     evidence
		seen  string
		class task.FailureClass
		next  time.Duration
	}{
		// The store shows life: nobody else is asked.
		"started meanwhile":            {ask(contract.AskStartup, with(unreported, func(p *task.Pulse) { p.Started = 0 }), gone), contract.ObservedWorking, "", 10 * minute},
		"assigned later":               {ask(contract.AskStartup, with(unreported, func(p *task.Pulse) { p.Assigned = 4 * minute }), gone), contract.ObservedWorking, "", 6 * minute},
		"never assigned":               {ask(contract.AskStartup, with(unreported, func(p *task.Pulse) { p.Assigned = never }), unknown), contract.ObservedWorking, "", 10 * minute},
		"heartbeat stored":             {ask(contract.AskHeartbeat, beats, unknown), contract.ObservedWorking, "", 9 * minute},
		"heartbeat stored, relay down": {ask(contract.AskHeartbeat, with(beats, func(p *task.Pulse) { p.RelayOut = minute }), alive()), contract.ObservedWorking, "", 9 * minute},
		"work stored":                  {ask(contract.AskNoWork, with(beats, func(p *task.Pulse) { p.Work = 3 * minute }), alive()), contract.ObservedWorking, "", 7 * minute},
		"tool within its limit":        {ask(contract.AskNoWork, with(beats, func(p *task.Pulse) { p.Tool, p.ToolAge = "bash", 20*minute }), alive()), contract.ObservedWorking, "", 10 * minute},
		"waits not too long":           {ask(contract.AskIdle, with(beats, func(p *task.Pulse) { p.Waiting = minute }), alive()), contract.ObservedWorking, "", 9 * minute},
		"waits no more":                {ask(contract.AskIdle, beats, alive()), contract.ObservedWorking, "", 10 * minute},
		"waits instead of works":       {ask(contract.AskNoWork, with(beats, func(p *task.Pulse) { p.Waiting = minute }), alive()), contract.ObservedWorking, "", 9 * minute},

		// The provider is sure.
		"gone":                       {ask(contract.AskHeartbeat, silence(), gone), contract.ObservedGone, task.ClassInfrastructure, 0},
		"gone, intake down":          {ask(contract.AskHeartbeat, with(silence(), func(p *task.Pulse) { p.IntakeOut = minute }), gone), contract.ObservedGone, task.ClassInfrastructure, 0},
		"gone before it reported":    {ask(contract.AskStartup, unreported, gone), contract.ObservedGone, task.ClassInfrastructure, 0},
		"ended with 0":               {ask(contract.AskHeartbeat, silence(), exited(0)), contract.ObservedExited, task.ClassInfrastructure, 0},
		"ended with 1":               {ask(contract.AskStartup, unreported, exited(1)), contract.ObservedExited, task.ClassAgentError, 0},
		"killed":                     {ask(contract.AskHeartbeat, silence(), exited(-1)), contract.ObservedExited, task.ClassInfrastructure, 0},
		"killed, told by a shell":    {ask(contract.AskHeartbeat, silence(), exited(137)), contract.ObservedExited, task.ClassInfrastructure, 0},
		"out of memory":              {ask(contract.AskHeartbeat, silence(), func() sandbox.Inspection { e := exited(-1); e.OOM = true; return e }()), contract.ObservedExited, task.ClassResources, 0},
		"disk full":                  {ask(contract.AskHeartbeat, silence(), func() sandbox.Inspection { e := exited(-1); e.DiskFull = true; return e }()), contract.ObservedExited, task.ClassResources, 0},
		"out of memory, agent lives": {ask(contract.AskHeartbeat, silence(), func() sandbox.Inspection { e := alive(); e.OOM = true; return e }()), contract.ObservedSilent, task.ClassInfrastructure, 0},

		// Every reason not to know.
		"provider down":            {ask(contract.AskHeartbeat, silence(), unknown), contract.ObservedUnknown, "", 0},
		"provider says nothing":    {ask(contract.AskHeartbeat, silence(), sandbox.Inspection{}), contract.ObservedUnknown, "", 0},
		"agent unknown":            {ask(contract.AskHeartbeat, silence(), sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateUnknown, Started: true}), contract.ObservedUnknown, "", 0},
		"intake was down":          {ask(contract.AskHeartbeat, with(silence(), func(p *task.Pulse) { p.IntakeOut = 1 }), alive()), contract.ObservedUnknown, "", 0},
		"relay was down":           {ask(contract.AskNoWork, with(beats, func(p *task.Pulse) { p.RelayOut = 1 }), alive()), contract.ObservedUnknown, "", 0},
		"intake down at start":     {ask(contract.AskStartup, with(unreported, func(p *task.Pulse) { p.IntakeOut = 1 }), alive()), contract.ObservedUnknown, "", 0},
		"intake down, waits":       {ask(contract.AskIdle, with(waits, func(p *task.Pulse) { p.IntakeOut = 1 }), alive()), contract.ObservedUnknown, "", 0},
		"spool out of reach":       {blind(ask(contract.AskHeartbeat, silence(), alive())), contract.ObservedUnknown, "", 0},
		"alive, cannot reach us":   {probed(ask(contract.AskHeartbeat, silence(), alive()), &spool.Probe{Unsent: 3, AgentAlive: true}), contract.ObservedUnknown, "", 0},
		"outside, intake down":     {outside(contract.AskHeartbeat, with(silence(), func(p *task.Pulse) { p.IntakeOut = 1 })), contract.ObservedUnknown, "", 0},
		"ended, cannot reach us":   {probed(ask(contract.AskHeartbeat, silence(), alive()), &spool.Probe{Unsent: 3, AgentAlive: true, NewestAgeMS: 3_600_000, Ended: true}), contract.ObservedUnknown, "", 0},
		"ended before it reported": {probed(ask(contract.AskStartup, unreported, alive()), &spool.Probe{Unsent: 3, AgentAlive: true, NewestAgeMS: 3_600_000, Ended: true}), contract.ObservedUnknown, "", 0},
		"cannot reach us, starts":  {probed(ask(contract.AskStartup, unreported, alive()), &spool.Probe{Unsent: 1, AgentAlive: true}), contract.ObservedUnknown, "", 0},

		// Nothing speaks for it.
		"never reported":                 {ask(contract.AskStartup, unreported, alive()), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"never started":                  {ask(contract.AskStartup, unreported, sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateGone}), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"silent":                         {ask(contract.AskHeartbeat, silence(), alive()), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"silent, nothing unsent":         {probed(ask(contract.AskHeartbeat, silence(), alive()), &spool.Probe{AgentAlive: true, NewestAgeMS: 3_600_000}), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"heartbeats inside":              {probed(ask(contract.AskHeartbeat, silence(), alive()), &spool.Probe{AgentAlive: true, NewestAgeMS: 10}), contract.ObservedUnknown, task.ClassNone, 0},
		"heartbeats inside without work": {probed(ask(contract.AskNoWork, silence(), alive()), &spool.Probe{AgentAlive: true, NewestAgeMS: 10}), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"stopped with a spool":           {probed(ask(contract.AskHeartbeat, silence(), alive()), &spool.Probe{Unsent: 3, AgentAlive: true, NewestAgeMS: 3_600_000}), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"silent, dead with a spool":      {probed(ask(contract.AskHeartbeat, silence(), alive()), &spool.Probe{Unsent: 3}), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"stuck":                          {ask(contract.AskNoWork, beats, alive()), contract.ObservedStuck, task.ClassAgentError, 0},
		"stuck in a tool too long":       {ask(contract.AskNoWork, with(beats, func(p *task.Pulse) { p.Tool, p.ToolAge = "bash", 31*minute }), alive()), contract.ObservedStuck, task.ClassAgentError, 0},
		"tool named long ago":            {ask(contract.AskNoWork, with(silence(), func(p *task.Pulse) { p.Tool, p.ToolAge = "bash", minute }), alive()), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"no work, no heartbeat":          {ask(contract.AskNoWork, silence(), alive()), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"waits too long":                 {ask(contract.AskIdle, waits, alive()), contract.ObservedIdle, task.ClassAgentError, 0},
		"waits, asked about work":        {ask(contract.AskNoWork, waits, alive()), contract.ObservedIdle, task.ClassAgentError, 0},
		"waits with heartbeats":          {ask(contract.AskHeartbeat, waits, alive()), contract.ObservedWorking, "", 9 * minute},
		"outside, silent":                {outside(contract.AskHeartbeat, silence()), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"outside, never came":            {outside(contract.AskStartup, unreported), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"outside, stuck":                 {outside(contract.AskNoWork, beats), contract.ObservedStuck, task.ClassAgentError, 0},
		"at the threshold":               {ask(contract.AskHeartbeat, with(silence(), func(p *task.Pulse) { p.Beat = 10 * minute }), alive()), contract.ObservedSilent, task.ClassInfrastructure, 0},
		"unknown question":               {ask("?", silence(), alive()), contract.ObservedSilent, task.ClassInfrastructure, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := judge(c.e)
			require.Equal(t, c.seen, out.Seen, out.Reason)
			require.Equal(t, c.class, out.Class)
			require.Equal(t, c.next, out.Next)
			require.Equal(t, c.e.pulse.Head, out.LastSequence)
			if c.seen != contract.ObservedWorking {
				require.NotEmpty(t, out.Reason)
			}
		})
	}
}

func TestNewest_WithoutAgesIsZero(t *testing.T) {
	t.Parallel()
	require.Zero(t, newest(never, never))
	require.Equal(t, 2*minute, newest(never, 3*minute, 2*minute))
	require.Zero(t, newest(0, minute))
}

func TestHeartbeatInterval_IsWellBelowTheTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ timeout, want time.Duration }{
		{0, 2 * time.Second}, {5 * time.Second, time.Second}, {20 * time.Second, 2 * time.Second}, {time.Minute, 2 * time.Second}, {time.Millisecond, 50 * time.Millisecond},
	} {
		require.Equal(t, c.want, beatEvery(c.timeout), c.timeout)
	}
}

func TestCut_KeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, "öö…", cutBytes("öööööö", 8))
	require.Equal(t, "öööö", cutBytes("öööö", 8))
	require.Equal(t, "ab…", cutRunes("abcd", 3))
	require.Equal(t, "a?", cutRunes("a\xff", 3))
}

func TestFindOrphans_ManyOrphansRaiseAnAlert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		alive, orphans int
		alert          bool
	}{{10, 0, false}, {4, 4, false}, {5, 5, true}, {10, 5, false}, {10, 6, true}, {100, 50, false}, {100, 51, true}} {
		out := guarded("local", c.alive, make([]contract.Orphan, c.orphans))
		require.Equal(t, c.alert, out.Alert != "", "%+v", c)
		require.Equal(t, c.alive, out.Alive)
		if c.alert {
			require.Empty(t, out.Orphans)
		} else {
			require.Len(t, out.Orphans, c.orphans)
		}
	}
}

// An exit code is all that such an agent leaves: it must not be lost.
func TestExit_WithoutAReportNamesItsCode(t *testing.T) {
	t.Parallel()
	out := judge(evidence{question: contract.AskHeartbeat, threshold: minute, pulse: silence(), machine: true, seen: exited(3)})
	require.Equal(t, task.Reason{Code: task.ReasonExited, ExitCode: 3}, out.EndReason)
}

func TestExit_OfAnInterruptedAgentIsReported(t *testing.T) {
	t.Parallel()
	pulse := with(silence(), func(p *task.Pulse) { p.Interrupted, p.InterruptedBy = true, "guardian" })
	out := judge(evidence{question: contract.AskHeartbeat, threshold: minute, pulse: pulse, machine: true, seen: exited(0)})
	require.Equal(t, task.Reason{Code: task.ReasonInterrupted, By: "guardian"}, out.EndReason)
	require.Equal(t, explain.Reason(out.EndReason), out.Reason)
}

// What a person has stopped waits for a person, and costs no retry.
func TestExit_AfterAUsersInterruptIsNotRetried(t *testing.T) {
	t.Parallel()
	pulse := with(silence(), func(p *task.Pulse) { p.Interrupted, p.InterruptedBy = true, task.FromPerson })
	out := judge(evidence{question: contract.AskEnded, threshold: minute, pulse: pulse, machine: true, seen: exited(0)})
	require.Equal(t, task.ClassStopped, out.Class)
	require.Equal(t, task.Reason{Code: task.ReasonInterrupted, By: task.FromPerson}, out.EndReason)
}

// What the provider has stopped runs no agent any more, if one was started.
func TestObserve_StoppedSandboxHasEnded(t *testing.T) {
	t.Parallel()
	e := evidence{question: contract.AskEnded, threshold: minute, pulse: silence(), machine: true, began: true}
	e.seen = sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateGone, ExitCode: -1, Reason: "Daytona says stopped"}
	out := judge(e)
	require.Equal(t, contract.ObservedExited, out.Seen)
	require.Equal(t, task.Reason{Code: task.ReasonSandboxStopped, Detail: "Daytona says stopped"}, out.EndReason)
	e.began = false
	require.Equal(t, contract.ObservedUnknown, judge(e).Seen)
}

// Whose verdict is accepted has done what it was for: its end is no failure, and nothing is known until the verdict is there.
func TestObserve_EndOfAValidatorWaitsForItsVerdict(t *testing.T) {
	t.Parallel()
	for _, question := range []string{contract.AskHeartbeat, contract.AskEnded, contract.AskNoWork} {
		e := evidence{question: question, threshold: minute, pulse: silence(), machine: true, seen: exited(0)}
		require.NotEqual(t, contract.ObservedUnknown, judge(e).Seen)
		e.pulse.VerdictDue = true
		require.Equal(t, contract.ObservedUnknown, judge(e).Seen, question)
	}
}
