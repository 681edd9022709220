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

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// gate is a server with its own routes under a limit of 8 MiB and handlers that do nothing.
type gate struct {
	t     *testing.T
	limit *bodyLimit
	addr  string
}

type intakeOfAll struct{}

func (intakeOfAll) Single(context.Context, string, ingest.Event, bool) (ingest.Receipt, error) {
	return ingest.Receipt{}, nil
}

func (intakeOfAll) Batch(context.Context, string, string, int64, []ingest.Event) (ingest.BatchReceipt, error) {
	return ingest.BatchReceipt{}, nil
}

type storeOfAll struct{ Transcripts }

func (storeOfAll) AppendTranscript(context.Context, transcript.Piece) (transcript.Mark, error) {
	return transcript.Mark{}, nil
}

func depsOfAll() Deps {
	deps := Deps{Ports: PortsOf(nil), Intake: intakeOfAll{}}
	deps.Transcripts = storeOfAll{}
	return deps
}

const gateRoom = 8 << 20

// openGate starts a gate that rejects a body that finds no room within wait.
func openGate(t *testing.T, wait, haste time.Duration) *gate {
	t.Helper()
	a := New(Config{Open: true}, depsOfAll())
	g := &gate{t: t, limit: newBodyLimit(gateRoom, 1<<20)}
	g.limit.wait, g.limit.haste = wait, haste
	box := a.group(tagSandboxes, "/gate/{sandbox_id}")
	hot[postBatchIn](box.on(accessSandbox, "POST /batch", "gate-batch", ""), g.limit, a.postBatch,
		details{says: client.CreateEventBatchRequest{}, body: 4 << 20})
	hot[postEventIn](box.on(accessSandbox, "POST /events", "gate-event", ""), g.limit, a.postEvent,
		details{says: client.CreateEventRequest{}, body: 1 << 20})
	add(box.on(accessSandbox, "PUT /transcripts/{run_id}", "gate-transcript", ""), a.putTranscript,
		details{body: transcript.MaxPiece, limit: g.limit})
	a.finishForms()
	server := httptest.NewServer(a)
	t.Cleanup(func() { a.Stop(); server.Close() })
	g.addr = server.Listener.Addr().String()
	return g
}

// stall sends all but the end of a body of that length, and then nothing.
func (g *gate) stall(what string, length int) *bufio.Reader {
	g.t.Helper()
	c, err := net.Dial("tcp", g.addr)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = c.Close() })
	require.NoError(g.t, c.SetDeadline(time.Now().Add(time.Minute)))
	head := fmt.Sprintf("%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n", what, length)
	_, err = io.WriteString(c, head+strings.Repeat("x", length-1))
	require.NoError(g.t, err)
	return bufio.NewReader(c)
}

// timesOut waits for the response to a stalled body.
func (g *gate) timesOut(stalled *bufio.Reader) {
	g.t.Helper()
	answer, err := http.ReadResponse(stalled, nil)
	require.NoError(g.t, err)
	require.NoError(g.t, answer.Body.Close())
	require.Equal(g.t, http.StatusRequestTimeout, answer.StatusCode)
}

func (g *gate) holds(bytes int64) {
	g.t.Helper()
	require.Eventually(g.t, func() bool { return g.limit.takes() == bytes }, time.Minute,
		time.Millisecond, "the bodies come in")
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

const (
	mebibyte = 1 << 20
	never    = 24 * time.Hour
)

// A sandbox that starts many batches and ends none blocks no other sandbox.
func TestBodyLimit_OneSandboxUsesItsShareOnly(t *testing.T) {
	t.Parallel()
	g := openGate(t, time.Millisecond, never)
	for n := range gateRoom / bodyParts >> 20 {
		g.stall("POST /gate/greedy/batch", mebibyte)
		g.holds(int64(n+1) * mebibyte)
	}
	require.Equal(t, http.StatusServiceUnavailable, g.batch("greedy"))
	require.Equal(t, http.StatusServiceUnavailable, g.transcript("greedy", mebibyte))
	require.Equal(t, http.StatusOK, g.beat("greedy"))
	require.Equal(t, http.StatusOK, g.transcript("greedy", 4))
	for range gateRoom >> 20 {
		g.stall("POST /gate/greedy/batch", mebibyte)
		require.Equal(t, http.StatusOK, g.beat("honest"))
		require.Equal(t, http.StatusOK, g.batch("honest"))
		require.Equal(t, http.StatusOK, g.transcript("honest", mebibyte))
	}
}

// Many sandboxes use all of the room: small bodies still pass, and large ones get a Retry-After header.
func TestBodyLimit_SmallBodiesPassFullLargeClass(t *testing.T) {
	t.Parallel()
	g := openGate(t, time.Millisecond, never)
	const boxes = 8
	for n := range boxes {
		g.stall(fmt.Sprintf("POST /gate/box-%d/batch", n), mebibyte)
	}
	g.holds(boxes * mebibyte)
	require.Equal(t, http.StatusOK, g.beat("honest"))
	require.Equal(t, http.StatusServiceUnavailable, g.batch("honest"))
}

// If half of the room is in use, stalled bodies end for the waiting ones.
func TestBodyLimit_StalledBodiesEndForWaitingOnes(t *testing.T) {
	t.Parallel()
	g := openGate(t, time.Minute, time.Millisecond)
	const half = 4
	for n := range half {
		g.stall(fmt.Sprintf("POST /gate/box-%d/batch", n), mebibyte)
	}
	g.holds(half * mebibyte)
	g.stall("POST /gate/box-4/events", smallBody)
	for n := range 2 * half {
		g.timesOut(g.stall(fmt.Sprintf("POST /gate/late-%d/batch", n), mebibyte))
	}
	g.holds(half*mebibyte + smallBody)
	require.Equal(t, http.StatusOK, g.beat("honest"))
}

func TestBodyLimit_HeartbeatPassesStalledSmallBodies(t *testing.T) {
	t.Parallel()
	g := openGate(t, time.Minute, time.Millisecond)
	const length, boxes = smallBody, gateRoom / bodyParts / smallBody
	for n := range boxes / 2 {
		g.stall(fmt.Sprintf("POST /gate/box-%d/events", n), length)
	}
	g.holds(boxes / 2 * length)
	for n := range boxes {
		g.timesOut(g.stall(fmt.Sprintf("POST /gate/late-%d/events", n), length))
	}
	for range 3 {
		require.Equal(t, http.StatusOK, g.beat("honest"))
	}
}

// Without the shorter patience small bodies are rejected with a Retry-After header.
func TestBodyLimit_StalledSmallBodiesFillTheirClass(t *testing.T) {
	t.Parallel()
	g := openGate(t, time.Millisecond, never)
	const length, boxes = smallBody, gateRoom / bodyParts / smallBody
	for n := range boxes {
		g.stall(fmt.Sprintf("POST /gate/box-%d/events", n), length)
	}
	g.holds(boxes * length)
	require.Equal(t, http.StatusServiceUnavailable, g.beat("honest"))
}
