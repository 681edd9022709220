package activities_test

import (
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// carried sends every request to the test server.
type carried struct{ host string }

func (c carried) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Host = c.host
	return http.DefaultTransport.RoundTrip(r)
}

// newPulledGround is a ground whose sandbox reaches nothing, where that can be had.
func newPulledGround(t *testing.T, script string) *ground {
	t.Helper()
	g := newGround(t, script, local.IsolationAuto)
	api, err := url.Parse(g.cfg.APIURL)
	require.NoError(t, err)
	g.deps.API = carried{api.Host}
	g.cfg.Pull, g.cfg.PullTurn, g.cfg.PullInterval = []string{task.ProviderLocal}, 100*time.Millisecond, 50*time.Millisecond
	g.cfg.Network = g.loneliest()
	g.acts = activities.New(g.cfg, g.deps)
	g.made = g.acts
	return g
}

// loneliest is no network where this machine can have that.
func (g *ground) loneliest() sandbox.Network {
	labels := sandbox.Labels{Installation: "inst", TaskID: taskID, Attempt: 9, SandboxID: task.NewSandboxID()}
	_, err := g.provider.Ensure(g.Context(), sandbox.Spec{Labels: labels, Network: sandbox.NetworkNone})
	if err != nil {
		g.Log("the sandbox keeps its network:", err)
		return sandbox.NetworkHost
	}
	require.NoError(g, g.provider.Delete(g.Context(), labels))
	return sandbox.NetworkNone
}

// relays lets short turns follow each other, as the workflow does; stop waits for the last one.
func (g *ground) relays() (stop func()) {
	stopped := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-stopped:
				return
			default:
			}
			if turn, err := do[contract.PullRelayTurn](g.bench, g.acts.RelaySandbox, g.ref()); err == nil && turn.Over != "" {
				return
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(stopped)
		group.Wait()
	})
	g.Cleanup(stop)
	return stop
}

func TestPullRelay_OfARealSandbox(t *testing.T) {
	t.Parallel()
	g := newPulledGround(t, workScript)
	g.begin()
	stop := g.relays()
	g.hear("agent.started")
	g.hear("marker-of-the-test")
	g.quiet()
	stop()
	require.Eventually(t, func() bool { return g.observe().Seen == contract.ObservedUnknown }, time.Minute, 50*time.Millisecond,
		"an agent whose pull relay lags is no silent one")
	require.Equal(t, task.SalvageRef, g.salvage().Kind)
	require.NoError(t, act(g.bench, g.acts.FlushSpool, g.ref()))
	g.hear("agent.shutdown")
	g.end()
}

// What an agent said that was killed is read all the same.
func TestFlushSpool_OfAKilledAgent(t *testing.T) {
	t.Parallel()
	g := newPulledGround(t, `{"steps": [{"say": "marker-of-the-test"}, {"crash": "KILL"}]}`)
	g.begin()
	g.quiet()
	require.Eventually(t, func() bool { return g.observe().Seen == contract.ObservedExited }, time.Minute, 50*time.Millisecond)
	require.NoError(t, act(g.bench, g.acts.FlushSpool, g.ref()))
	g.hear("marker-of-the-test")
	g.end()
}
