package e2e_test

import (
	"context"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// A second Ctrl-C ends a stop that hangs. The next start continues the task in its attempt.
func TestDev_SecondInterruptEndsTheStop(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	l.dev()
	made := l.submit(l.repo(), script(stepWrite, stepBeats, stepCommit, stepComplete))
	l.running(made.ID)
	l.atWork(0)
	p := l.procs["dev"]
	resume := l.freeze("start-dev") // so that the stop takes its time
	require.True(t, waitFor(patience, func() bool {
		_ = p.cmd.Process.Signal(syscall.SIGINT)
		return closed(p.done)
	}))
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.True(t, status.Signaled(), "it was ended by the signal, and not by its own stop: %s", p.cmd.ProcessState)
	require.Equal(t, syscall.SIGINT, status.Signal())
	resume()
	before := l.beats()
	l.dev()
	l.atWork(before)
	l.release(made.ID)
	require.Equal(t, 1, l.ends(made.ID, task.StatusCompleted).AttemptCount)
	l.noLeaks()
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Restarted on another port, omoi dev hears the agents that it left running.
func TestDev_OtherPortHearsRunningAgents(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	first := l.dev()
	made := l.submit(l.repo(), script(stepWrite, stepUntilReleased, stepCommit, stepComplete))
	l.running(made.ID)
	l.kill("dev")
	l.env["OMOI_API_PORT"] = strconv.Itoa(freePort(t))
	second := l.dev()
	require.NotEqual(t, first.APIURL, second.APIURL)
	heard := `SELECT count(*) FROM sandbox_events WHERE sandbox_id = '` + text(l.task(made.ID).SandboxID) + `' AND event_type = 'agent.completed'`
	require.Zero(t, l.count(heard))
	l.release(made.ID)
	require.Equal(t, 1, l.ends(made.ID, task.StatusCompleted).AttemptCount)
	require.Equal(t, 1, l.count(heard))
	l.noLeaks()
	l.gapless()
}

// The API is ready while Temporal runs and does not answer: it accepts tasks and events.
func TestReady_WhileTemporalDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	temporal := func() apiclient.Dependency {
		ready, err := r.api.Ready(context.Background())
		require.NoError(t, err)
		require.True(t, ready.Ready)
		for _, d := range ready.Dependencies {
			if d.Name == "temporal" {
				return d
			}
		}
		return apiclient.Dependency{}
	}
	r.eventually("Temporal answers", func() bool { return temporal().State == apiclient.StateOK })
	resume := r.freeze("start-dev")
	r.eventually("it is said that Temporal does not answer", func() bool { return temporal().State == apiclient.StateDown })
	made := r.submit(r.repo(), script(stepComplete))
	resume()
	r.ends(made.ID, task.StatusCompleted)
}
