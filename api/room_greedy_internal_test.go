package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// gate is a server with routes of its own into a room of 8 MiB, and nothing behind them.
type gate struct {
	t    *testing.T
	here *room
	addr string
}

type intakeOfAll struct{}

func (intakeOfAll) Single(context.Context, string, ingest.Event, bool) (ingest.Receipt, error) {
	return ingest.Receipt{}, nil
}

func (intakeOfAll) Batch(context.Context, string, string, int64, []ingest.Event) (ingest.BatchReceipt, error) {
	return ingest.BatchReceipt{}, nil
}

type storeOfAll struct{ Store }

func (storeOfAll) AppendTranscript(context.Context, task.TranscriptPiece) (task.TranscriptMark, error) {
	return task.TranscriptMark{}, nil
}

const (
	gateRoom   = 8 << 20
	neverHaste = 24 * time.Hour
)

func openGate(t *testing.T) *gate {
	t.Helper()
	a := New(Config{Open: true}, Deps{Intake: intakeOfAll{}, Store: storeOfAll{}})
	g := &gate{t: t, here: &room{bytes: gateRoom, haste: neverHaste}}
	hot[postBatchIn](a, g.here, route{
		method: http.MethodPost, path: "/gate/{sandbox_id}/batch", id: "gate-batch", tag: tagSandboxes, access: accessSandbox, says: client.Batch{}, body: 4 << 20,
	}, a.postBatch)
	hot[postEventIn](a, g.here, route{
		method: http.MethodPost, path: "/gate/{sandbox_id}/events", id: "gate-event", tag: tagSandboxes, access: accessSandbox, says: client.BatchEvent{}, body: 1 << 20,
	}, a.postEvent)
	add(a, route{
		method: http.MethodPut, path: "/gate/{sandbox_id}/transcripts/{run_id}", id: "gate-transcript", tag: tagSandboxes, access: accessSandbox,
		body: task.MaxTranscriptPiece, room: g.here,
	}, a.putTranscript)
	a.finishForms()
	server := httptest.NewServer(a)
	t.Cleanup(func() { a.Stop(); server.Close() })
	g.addr = server.Listener.Addr().String()
	return g
}

// hurry changes how long a sender may keep others waiting.
func (g *gate) hurry(haste time.Duration) {
	g.here.mu.Lock()
	defer g.here.mu.Unlock()
	g.here.haste = haste
}

// stall sends all but the end of a body, and then nothing.
func (g *gate) stall(what string, length int) *bufio.Reader {
	g.t.Helper()
	c, err := net.Dial("tcp", g.addr)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = c.Close() })
	require.NoError(g.t, c.SetDeadline(time.Now().Add(time.Minute)))
	head := fmt.Sprintf("%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n", what, length+4)
	_, err = io.WriteString(c, head+strings.Repeat("x", length))
	require.NoError(g.t, err)
	return bufio.NewReader(c)
}

func (g *gate) holds(bytes int64) {
	g.t.Helper()
	require.Eventually(g.t, func() bool { return g.here.takes() == bytes }, time.Minute, time.Millisecond, "the bodies come in")
}

func (g *gate) status(method, path, body string) int {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, "http://"+g.addr+path, strings.NewReader(body))
	require.NoError(g.t, err)
	got, err := http.DefaultClient.Do(r)
	require.NoError(g.t, err)
	require.NoError(g.t, got.Body.Close())
	if got.StatusCode == http.StatusServiceUnavailable {
		require.NotEmpty(g.t, got.Header.Get("Retry-After"))
	}
	return got.StatusCode
}

const beat = `{"event_type":"agent.heartbeat","event_data":{"status":"running"}}`

func (g *gate) beat(box string) int { return g.status(http.MethodPost, "/gate/"+box+"/events", beat) }

func (g *gate) batch(box string) int {
	return g.status(http.MethodPost, "/gate/"+box+"/batch",
		`{"spool_id":"s","first":1,"events":[{"event_type":"agent.message","event_data":{"content":"`+strings.Repeat("x", 512<<10)+`"}}]}`)
}

func (g *gate) transcript(box string, length int) int {
	return g.status(http.MethodPut, "/gate/"+box+"/transcripts/r?offset=0&sum=0", strings.Repeat("y", length-1)+"\n")
}

// A sandbox that begins many batches and ends none keeps nobody out but itself.
func TestOneSandboxHasAShareOfTheRoom(t *testing.T) {
	t.Parallel()
	g := openGate(t)
	const length = 1<<20 - 4
	for n := range gateRoom / sandboxPart >> 20 {
		g.stall("POST /gate/greedy/batch", length)
		g.holds(int64(n+1) * length)
	}
	require.Equal(t, http.StatusServiceUnavailable, g.batch("greedy"))
	require.Equal(t, http.StatusServiceUnavailable, g.transcript("greedy", length))
	require.Equal(t, http.StatusOK, g.beat("greedy"))
	require.Equal(t, http.StatusOK, g.transcript("greedy", 4))
	for range gateRoom >> 20 {
		g.stall("POST /gate/greedy/batch", length)
		require.Equal(t, http.StatusOK, g.beat("honest"))
		require.Equal(t, http.StatusOK, g.batch("honest"))
		require.Equal(t, http.StatusOK, g.transcript("honest", length))
	}
}

// Many sandboxes fill the room together: small bodies still pass, and large ones as soon as those
// that have stopped have had their time.
func TestBodiesThatHaveStoppedGiveWay(t *testing.T) {
	t.Parallel()
	g := openGate(t)
	const length = 1<<20 - 4
	first := g.stall("POST /gate/box-0/batch", length)
	g.holds(length)
	for n := range 7 {
		g.stall(fmt.Sprintf("POST /gate/box-%d/batch", n+1), length)
	}
	g.holds(8 * length)
	require.Equal(t, http.StatusOK, g.beat("honest"))
	require.Equal(t, http.StatusServiceUnavailable, g.batch("honest"), "they have their time")
	g.hurry(time.Nanosecond)
	require.Equal(t, http.StatusOK, g.batch("honest"))
	g.holds(7 * length)
	answer, err := http.ReadResponse(first, nil)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusRequestTimeout, answer.StatusCode, "the one that has waited for longest")
}

// Where small bodies fill what is for them, a heartbeat takes the place of one that has stopped.
func TestAHeartbeatPassesSmallBodiesThatHaveStopped(t *testing.T) {
	t.Parallel()
	g := openGate(t)
	const length, boxes = smallBody - 1, gateRoom / smallPart / smallBody
	for n := range boxes {
		g.stall(fmt.Sprintf("POST /gate/box-%d/events", n), length)
	}
	g.holds(boxes * length)
	require.Equal(t, http.StatusServiceUnavailable, g.beat("honest"))
	g.hurry(time.Nanosecond)
	for range 3 {
		require.Equal(t, http.StatusOK, g.beat("honest"))
	}
}
