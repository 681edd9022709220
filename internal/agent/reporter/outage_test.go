package reporter_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/event"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// wire is an API without a network, so that a test can use fake time.
type wire struct {
	mu     sync.Mutex
	down   func() (apiclient.Answer, error) // nil: the API works
	most   int                              // maximum bytes of a body that passes; 0: no maximum
	over   func() (apiclient.Answer, error) // answer for longer bodies
	asked  []time.Time
	events []agenttest.Event
}

func (w *wire) Post(_ context.Context, _ string, body []byte, _ bool) (apiclient.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, time.Now())
	if w.down != nil {
		return w.down()
	}
	if w.most > 0 && len(body) > w.most {
		return w.over()
	}
	var in struct {
		First  int64             `json:"first"`
		Events []agenttest.Event `json:"events"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return apiclient.Answer{}, err
	}
	if in.First != int64(len(w.events))+1 {
		return apiclient.Answer{Status: http.StatusConflict, Body: acknowledged(len(w.events))}, nil
	}
	w.events = append(w.events, in.Events...)
	return apiclient.Answer{Status: http.StatusOK, Body: acknowledged(len(w.events))}, nil
}

// fails makes every request fail; nil ends that.
func (w *wire) fails(down func() (apiclient.Answer, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

// posts returns the times of the requests, and stores the events that arrived.
func (w *wire) posts() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

func (w *wire) stored() []agenttest.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// beat emits heartbeats until the returned function is called.
func beat(r *reporter.Reporter, doing *reporter.Activity) (still func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); r.Beat(ctx, 30*time.Second, doing) }()
	return func() { cancel(); <-over }
}

func acknowledged(n int) []byte {
	b, _ := json.Marshal(map[string]int{"acknowledged": n}) //nolint:errchkjson // a number
	return b
}

// aside runs body in fake time with a reporter on the wire.
func aside(t *testing.T, cfg reporter.Config, body func(t *testing.T, w *wire, r *reporter.Reporter)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		sp, err := spool.Open(dir, spool.Config{})
		require.NoError(t, err)
		w := &wire{}
		r := reporter.New(cfg, sp, w, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() { defer close(over); _ = r.Run(ctx) }()
		defer func() {
			cancel()
			<-over
			_ = sp.Close()
		}()
		body(t, w, r)
	})
}

func TestOutage_OfAnHour(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]func() (apiclient.Answer, error){
		"502":   func() (apiclient.Answer, error) { return apiclient.Answer{Status: http.StatusBadGateway}, nil },
		"reset": func() (apiclient.Answer, error) { return apiclient.Answer{}, errors.New("connection reset by peer") },
		"503": func() (apiclient.Answer, error) {
			return apiclient.Answer{Status: 503, RetryAfter: 5 * time.Second}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aside(t, reporter.Config{SandboxID: "sbx"}, func(t *testing.T, w *wire, r *reporter.Reporter) {
				t.Helper()
				w.fails(down)
				still := beat(r, &reporter.Activity{})
				defer still()
				<-time.After(time.Hour) // fake time of the bubble
				synctest.Wait()
				asked := len(w.posts())
				require.Less(t, asked, 3600/7+20, "at most every 7.5 s, once it is clear that nobody answers")
				w.fails(nil)
				back := time.Now()
				require.NoError(t, r.Flush(t.Context()))
				require.LessOrEqual(t, time.Since(back), 20*time.Second, "no wait grows without bound")
				still()
				require.GreaterOrEqual(t, len(w.stored()), 121)
				require.LessOrEqual(t, len(w.stored()), 123, "one heartbeat per interval, whatever the API does")
				for i, e := range w.stored() {
					require.EqualValues(t, i, e.Data["event_count"])
				}
			})
		})
	}
}

// TestSend_SmallerBatchesAfterLosses checks that smaller batches are tried: some connections are cut after a number of
// bytes, and a busy API has more room for small bodies.
func TestSend_SmallerBatchesAfterLosses(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func() (apiclient.Answer, error){
		"cut":  func() (apiclient.Answer, error) { return apiclient.Answer{}, errors.New("connection reset by peer") },
		"busy": func() (apiclient.Answer, error) { return apiclient.Answer{Status: 503, RetryAfter: time.Second}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aside(t, reporter.Config{SandboxID: "sbx"}, func(t *testing.T, w *wire, r *reporter.Reporter) {
				t.Helper()
				w.most, w.over = 2000, over
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // fake time of the bubble
				defer cancel()
				const events = 150
				say := func() {
					for range events {
						r.Emit("agent.message", map[string]any{"text": strings.Repeat("x", 200)})
					}
				}
				say()
				require.NoError(t, r.Flush(ctx))
				require.Len(t, w.stored(), events)
				w.most = 0
				say()
				before := len(w.posts())
				require.NoError(t, r.Flush(ctx))
				require.Less(t, len(w.posts())-before, 10, "what gets through again is sent in large batches")
			})
		})
	}
}

// TestSend_SpreadsRetries checks that a wait which the server requests of all agents does not make them return at the
// same moment.
func TestSend_SpreadsRetries(t *testing.T) {
	t.Parallel()
	gaps := map[int64]bool{}
	for range 5 {
		aside(t, reporter.Config{SandboxID: "sbx"}, func(t *testing.T, w *wire, r *reporter.Reporter) {
			t.Helper()
			w.fails(func() (apiclient.Answer, error) {
				return apiclient.Answer{Status: http.StatusServiceUnavailable, RetryAfter: 30 * time.Second}, nil
			})
			r.Emit("agent.message", nil)
			<-time.After(5 * time.Minute) // fake time of the bubble
			synctest.Wait()
			asked := w.posts()
			for i := range asked[1:] {
				gap := asked[i+1].Sub(asked[i])
				require.GreaterOrEqual(t, gap, 30*time.Second)
				require.LessOrEqual(t, gap, 46*time.Second)
				gaps[int64(gap)] = true
			}
		})
	}
	require.Greater(t, len(gaps), 20)
}

// TestClockChange sets the wall clock by hours: no wait and no tool age changes.
func TestClockChange(t *testing.T) {
	t.Parallel()
	var jump atomic.Int64
	wall := func() time.Time { return time.Now().Round(0).Add(time.Duration(jump.Load())) }
	aside(t, reporter.Config{SandboxID: "sbx", Now: wall}, func(t *testing.T, w *wire, r *reporter.Reporter) {
		t.Helper()
		doing := &reporter.Activity{}
		doing.Tool("Bash")
		still := beat(r, doing)
		defer still()
		for _, hours := range []int64{0, 7, -9, 3} {
			jump.Store(hours * int64(time.Hour))
			w.fails(func() (apiclient.Answer, error) { return apiclient.Answer{Status: http.StatusBadGateway}, nil })
			before := len(w.posts())
			<-time.After(5 * time.Minute) // fake time of the bubble
			synctest.Wait()
			require.Greater(t, len(w.posts())-before, 10, "it keeps trying")
			w.fails(nil)
			<-time.After(5 * time.Minute) // fake time of the bubble
			synctest.Wait()
		}
		still()
		require.NoError(t, r.Flush(t.Context()))
		require.Len(t, w.stored(), 81, "one each 30 s, in 40 minutes")
		for i, e := range w.stored() {
			require.EqualValues(t, i*30_000, e.Data["tool_age_ms"])
		}
	})
}

// TestDroppedEvents_SurviveDeath checks that a program which dies with a full spool still reports the dropped events
// after its restart.
func TestDroppedEvents_SurviveDeath(t *testing.T) {
	t.Parallel()
	server, dir := agenttest.New(t), t.TempDir()
	var up atomic.Bool
	server.FaultOf = func(int) agenttest.Fault {
		if up.Load() {
			return agenttest.Fault{}
		}
		return agenttest.Fault{Status: http.StatusServiceUnavailable}
	}
	r := begin(t, server, dir, quick(), 16<<10)
	for i := range 500 {
		r.Emit("agent.message", map[string]any{"i": i})
	}
	_ = r.stop() // without Flush, as after a death
	up.Store(true)
	r = begin(t, server, dir, quick(), 16<<10)
	require.NoError(t, r.Flush(t.Context()))
	kept, dropped := 0, 0.0
	for _, e := range requireWhole(t, server) {
		if e.Type == event.AgentEventsDropped {
			dropped += e.Data["count"].(float64)
			continue
		}
		kept++
	}
	require.Positive(t, dropped)
	require.EqualValues(t, 500, float64(kept)+dropped)
}
