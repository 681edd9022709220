package reporter_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/redact"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	*reporter.Reporter
	server *agenttest.Server
	spool  *spool.Spool
	line   *apiclient.Client
	stop   func() error
}

func quick() reporter.Config {
	return reporter.Config{
		SandboxID: "sbx", TaskID: "task", AgentID: "me", Linger: time.Millisecond,
		MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, SlowBackoff: 5 * time.Millisecond,
	}
}

// begin opens a spool in dir and starts to send; stop ends that as the end of a process would.
func begin(t *testing.T, server *agenttest.Server, dir string, cfg reporter.Config, limit int64) *rig {
	t.Helper()
	sp, err := spool.Open(dir, spool.Config{Limit: limit})
	require.NoError(t, err)
	line, err := apiclient.New(apiclient.Config{APIURL: server.URL, Token: "secret", SandboxID: "sbx", Timeout: 5 * time.Second})
	require.NoError(t, err)
	rep := reporter.New(cfg, sp, line, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rep.Run(ctx) }()
	r := &rig{Reporter: rep, server: server, spool: sp, line: line}
	r.stop = sync.OnceValue(func() error {
		cancel()
		err := <-done
		line.Close()
		_ = sp.Close()
		return err
	})
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// requireWhole checks that the sequences of each spool are 1..n in order, and returns the events.
func requireWhole(t *testing.T, server *agenttest.Server) []agenttest.Event {
	t.Helper()
	last := map[string]int64{}
	for _, e := range server.Events() {
		require.Equal(t, last[e.Spool]+1, e.N)
		last[e.Spool] = e.N
	}
	return server.Events()
}

func TestEmit_AddsIDs(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	r := begin(t, server, t.TempDir(), quick(), 0)
	r.Emit("agent.message", map[string]any{"content": "a\x00b", "task_id": "another"})
	r.Emit("agent.started", nil)
	require.NoError(t, r.Flush(t.Context()))
	events := requireWhole(t, server)
	require.Len(t, events, 2)
	require.Equal(t, "task", events[0].Data["task_id"])
	require.Equal(t, "me", events[0].Data["agent_id"])
	require.Equal(t, "sbx", events[0].Data["sandbox_id"])
	require.Equal(t, "a\ufffdb", events[0].Data["content"])
	require.Equal(t, "agent", events[0].Source)
	require.Equal(t, "worker", events[1].Source)
	require.Positive(t, server.Token("secret"))
	require.EqualValues(t, 2, r.Count())
}

func TestEmit_RemovesSecrets(t *testing.T) {
	t.Parallel()
	const token = "v1.pfqqh2km.sMf_trL-0123456789abcdefghijklmnopqrstuvwxyz"
	server, dir, cfg := agenttest.New(t), t.TempDir(), quick()
	server.FaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: 503} } // the event stays in the spool
	cfg.Secrets = redact.New(token, map[string]string{"MY_SECRET": "planted-secret"})
	r := begin(t, server, dir, cfg, 0)
	r.Emit("agent.tool_completed", map[string]any{
		"tool_response": map[string]any{"output": "MY_SECRET=planted-secret\n{\"token\": \"" + token + "\"}"}, "chunks": []any{token[:20], token[20:]},
	})
	require.EqualError(t, r.stop(), context.Canceled.Error())
	files, err := filepath.Glob(filepath.Join(dir, "*.events"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), "MY_SECRET=[redacted]")
		require.NotContains(t, string(text), "planted")
		require.NotContains(t, string(text), "sMf_trL")
		require.NotContains(t, string(text), "qrstuvwxyz")
	}
}

func TestSend_CompressesLargeBatches(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	r := begin(t, server, t.TempDir(), quick(), 0)
	r.Emit("agent.message", map[string]any{"content": strings.Repeat("x", 20_000)})
	require.NoError(t, r.Flush(t.Context()))
	require.Positive(t, server.Zipped())
}

func TestSend_RetriesFailures(t *testing.T) {
	t.Parallel()
	faults := []agenttest.Fault{
		{Status: 502},
		{Status: 500},
		{Status: 503},
		{Status: 429},
		{Status: 401},
		{Status: 403},
		{Status: 404},
		{CutBefore: true},
		{CutAfter: true},
		{Keep: 1},
		{Status: 408},
	}
	server := agenttest.New(t)
	server.FaultOf = func(n int) agenttest.Fault {
		if n <= len(faults) {
			return faults[n-1]
		}
		return agenttest.Fault{}
	}
	r := begin(t, server, t.TempDir(), quick(), 0)
	for range 20 {
		r.Emit("agent.heartbeat", nil)
	}
	require.NoError(t, r.Flush(t.Context()))
	require.Len(t, requireWhole(t, server), 20)
}

func TestSend_FillsGap(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	r := begin(t, server, t.TempDir(), quick(), 0)
	for i := range 10 {
		r.Emit("agent.message", map[string]any{"i": i})
	}
	require.NoError(t, r.Flush(t.Context()))
	server.Forget(4) // as after a restore of an old database
	r.Emit("agent.message", map[string]any{"i": 10})
	require.NoError(t, r.Flush(t.Context()))
	server.Wait(t, func(events []agenttest.Event) bool { return len(events) == 11 })
	for i, e := range requireWhole(t, server) {
		require.EqualValues(t, i, e.Data["i"])
	}
}

func TestRun_Gone(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	server.FaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: http.StatusGone} }
	r := begin(t, server, t.TempDir(), quick(), 0)
	r.Emit("agent.message", nil)
	require.ErrorIs(t, r.Flush(t.Context()), reporter.ErrGone)
	require.ErrorIs(t, r.stop(), reporter.ErrGone)
}

func TestRejectedEvent_DoesNotBlock(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	server.Refuse = func(e agenttest.Event) bool { return e.Type == "agent.bad" }
	r := begin(t, server, t.TempDir(), quick(), 0)
	for i := range 30 {
		kind := "agent.message"
		if i == 17 {
			kind = "agent.bad"
		}
		r.Emit(kind, map[string]any{"i": i})
	}
	require.NoError(t, r.Flush(t.Context()))
	events := requireWhole(t, server)
	require.Len(t, events, 30)
	require.Equal(t, event.AgentEventsDropped, events[17].Type)
	require.Equal(t, "agent.bad", events[17].Data["event_type"])
}

// TestEvent_SurvivesTemporaryRejections checks that a rejection which is not from omoi, or not repeated, costs no
// event.
func TestEvent_SurvivesTemporaryRejections(t *testing.T) {
	t.Parallel()
	var faults []agenttest.Fault
	for _, status := range []int{400, 413, 422, 400, 404, 405, 418, 431, 400} {
		faults = append(faults, agenttest.Fault{Status: status, Foreign: true})
	}
	faults[4], faults[8] = agenttest.Fault{Status: 422}, agenttest.Fault{Status: 422}
	server := agenttest.New(t)
	server.FaultOf = func(n int) agenttest.Fault {
		if n <= len(faults) {
			return faults[n-1]
		}
		return agenttest.Fault{}
	}
	r := begin(t, server, t.TempDir(), quick(), 0)
	r.Emit("agent.completed", nil)
	require.NoError(t, r.Flush(t.Context()))
	events := requireWhole(t, server)
	require.Len(t, events, 1)
	require.Equal(t, "agent.completed", events[0].Type)
}

// TestCompression_Returns checks that compression is used again some time after a rejected compressed body.
func TestCompression_Returns(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	server.FaultOf = func(n int) agenttest.Fault {
		if n == 1 {
			return agenttest.Fault{Status: 400, Foreign: true}
		}
		return agenttest.Fault{}
	}
	r := begin(t, server, t.TempDir(), quick(), 0)
	for n := 0; server.Zipped() < 2; n++ {
		require.Less(t, n, 300)
		r.Emit("agent.message", map[string]any{"content": strings.Repeat("x", 20_000)})
		require.NoError(t, r.Flush(t.Context()))
	}
	requireWhole(t, server)
}

func TestEmit_FullSpool(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	release := make(chan struct{})
	server.FaultOf = func(int) agenttest.Fault {
		select {
		case <-release:
			return agenttest.Fault{}
		default:
			return agenttest.Fault{Status: 503}
		}
	}
	r := begin(t, server, t.TempDir(), quick(), 16<<10)
	for i := range 1000 {
		r.Emit("agent.message", map[string]any{"i": i})
	}
	r.Emit("agent.completed", map[string]any{"success": true})
	close(release)
	require.NoError(t, r.Flush(t.Context()))
	events := requireWhole(t, server)
	kept, dropped, completed := 0, 0.0, 0
	for _, e := range events {
		switch e.Type {
		case "agent.message":
			kept++
		case "agent.completed":
			completed++
		case event.AgentEventsDropped:
			dropped += e.Data["count"].(float64)
			require.NotEmpty(t, e.Data["since"])
		}
	}
	require.Equal(t, 1, completed)
	require.Positive(t, kept)
	require.EqualValues(t, 1000, float64(kept)+dropped, "what was left out is counted")
}

func TestEmit_LargeEvent(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	r := begin(t, server, t.TempDir(), quick(), 0)
	r.Emit("agent.tool_completed", map[string]any{"tool": "Bash", "tool_response": map[string]any{"output": strings.Repeat("y", 3<<20)}})
	require.NoError(t, r.Flush(t.Context()))
	events := requireWhole(t, server)
	require.Equal(t, "Bash", events[0].Data["tool"])
	require.NotNil(t, events[0].Data["shortened_from_bytes"])
}

// TestFloodThroughFailures checks that the server has the sequences 1..n, each once and in order, after failures of
// network and process.
func TestFloodThroughFailures(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			flood(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func flood(t *testing.T, rng *rand.Rand) {
	t.Helper()
	server := agenttest.New(t)
	server.FaultOf = func(int) agenttest.Fault { // called with the server's lock
		switch rng.IntN(10) {
		case 0:
			return agenttest.Fault{CutBefore: true}
		case 1:
			return agenttest.Fault{CutAfter: true}
		case 2:
			return agenttest.Fault{Status: 502}
		case 3:
			return agenttest.Fault{Keep: 1 + rng.IntN(5)}
		}
		return agenttest.Fault{}
	}
	dir := t.TempDir()
	cfg := quick()
	cfg.BatchEvents = 16
	restarts := rand.New(rand.NewPCG(5, uint64(len(dir))))
	r := begin(t, server, dir, cfg, 0)
	const total = 1500
	for i := range total {
		if restarts.IntN(200) == 0 {
			_ = r.stop()
			r = begin(t, server, dir, cfg, 0)
		}
		r.Emit("agent.message", map[string]any{"i": i})
	}
	require.NoError(t, r.Flush(t.Context()))
	events := requireWhole(t, server)
	require.Len(t, events, total)
	for i, e := range events {
		require.EqualValues(t, i, e.Data["i"])
		require.Equal(t, events[0].Spool, e.Spool)
	}
}

func TestBeat_RunningTool(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	r := begin(t, server, t.TempDir(), quick(), 0)
	doing := &reporter.Activity{}
	doing.SetTurn(3)
	done := doing.Tool("Bash")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { r.Beat(ctx, time.Millisecond, doing); close(over) }()
	server.Wait(t, agenttest.Has("agent.heartbeat", 2))
	done()
	doing.SetStatus(reporter.StatusWaiting)
	server.Wait(t, func(events []agenttest.Event) bool { return events[len(events)-1].Data["status"] == "waiting" })
	cancel()
	<-over
	first := server.Of("agent.heartbeat")[0].Data
	require.Equal(t, "running", first["status"])
	require.Equal(t, "Bash", first["current_tool"])
	require.EqualValues(t, 3, first["turn"])
	require.Contains(t, first, "tool_age_ms")
	require.Contains(t, first, "event_count")
	require.NoError(t, r.stop0())
}

// stop0 stops the rig, and ignores the end of its context.
func (r *rig) stop0() error {
	if err := r.stop(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
