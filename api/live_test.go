package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/live"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// rarely makes readers depend on notifications, since their own queries come too late for a test.
func rarely(c *api.Config) {
	c.Open, c.StreamBeat, c.PollEvery, c.SocketPing = true, time.Hour, time.Hour, time.Hour
}

// often makes readers query often, so that they do not depend on notifications.
func often(c *api.Config) {
	c.Open, c.StreamBeat, c.PollEvery = true, 20*time.Millisecond, 20*time.Millisecond
}

// number returns the n that [world.report] puts into an event, from a frame of the bus.
func number(t *testing.T, frame map[string]any) int {
	t.Helper()
	payload, _ := frame["payload"].(map[string]any)
	n, ok := payload["n"].(float64)
	require.True(t, ok, "%v", frame)
	return int(n)
}

// TestStream_GetsEventsOfAnotherProcess has two processes that share a database and a Redis, which is killed
// in the middle of a stream.
func TestStream_GetsEventsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	onEachBus(t, rarely, func(t *testing.T, w apiPair) {
		t.Helper()
		stream := w.other.follow(t, wire+"b/stream")
		defer stream.close()
		socket := w.other.socket(t, "").ready()
		for n := 1; n <= 20; n++ {
			w.one.report("b", n, "x")
			require.EqualValues(t, n, stream.event().data.Sequence)
			require.Equal(t, n, number(t, socket.next()))
		}
	})
}

func TestStream_SurvivesLossOfRedis(t *testing.T) {
	t.Parallel()
	address, kill := redisServer(t)
	pool, buses := pgtest.New(t), [2]live.Bus{redisBus(t, address), redisBus(t, address)}
	connected(t, buses[0], buses[1])
	one, other := startOn(t, pool, buses[0], often), startOn(t, pool, buses[1], often)
	stream := other.follow(t, wire+"b/stream")
	defer stream.close()
	socket := other.socket(t, "").ready()
	const total = 60
	for n := 1; n <= total; n++ {
		if n == total/2 {
			kill() // SIGKILL
		}
		one.report("b", n, "x")
		require.EqualValues(t, n, stream.event().data.Sequence, "each once, in order")
		require.Equal(t, n, number(t, socket.next()))
	}
}

// TestStream_SlowReaderBlocksNoOther opens a stream and a WebSocket and reads neither until more is stored than all
// buffers hold. Other readers get all events meanwhile. Then the slow readers get what they missed from the database.
func TestStream_SlowReaderBlocksNoOther(t *testing.T) {
	t.Parallel()
	const each = 90
	batches := 5
	if testing.Short() { // slow: a reader that reads nothing for half a minute is disconnected
		batches = 1
	}
	w := start(t, func(c *api.Config) { c.Open = true })
	slowStream, slowSocket := w.deaf(t, wire+"b/stream"), w.socket(t, "").ready()
	stream, socket := w.follow(t, wire+"b/stream"), w.socket(t, "").ready()
	defer stream.close()
	answered := make(chan struct{})
	defer func() { <-answered }() // an event may be read before its post has a response
	go func() {
		defer close(answered)
		for n := range batches {
			w.reportLarge("b", 1+n*each, each)
		}
	}()
	for n := 1; n <= batches*each; n++ {
		require.EqualValues(t, n, stream.event().data.Sequence)
		require.Equal(t, n, number(t, socket.next()))
	}
	for n := 1; n <= batches*each; n++ {
		require.Equal(t, n, number(t, slowSocket.next()))
	}
	require.Equal(t, batches*each, countOf(t, slowStream, batches*each))
}

// Readers at the same cursor share queries. A reader that waits for the next query must not get that of a reader that
// has moved on meanwhile.
func TestStream_SharedQueriesLoseNothing(t *testing.T) {
	t.Parallel()
	const readers, total = 12, 300
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
	streams := make([]*follower, readers)
	for n := range streams {
		streams[n] = w.follow(t, wire+"b/stream")
		defer streams[n].close()
	}
	answered := make(chan struct{})
	defer func() { <-answered }()
	go func() {
		defer close(answered)
		for n := 1; n <= total; n++ {
			w.report("b", n, "x")
		}
	}()
	for n := 1; n <= total; n++ {
		for _, stream := range streams {
			require.EqualValues(t, n, stream.event().data.Sequence)
		}
	}
}

// reportLarge posts events of about 12 kB each, which is below the limit of large fields.
func (w *world) reportLarge(sandbox string, first, count int) {
	pad := strings.Repeat("x", 1500)
	events := make([]map[string]any, count)
	for n := range events {
		data := map[string]any{"n": first + n}
		for field := range 8 {
			data[fmt.Sprintf("pad_%d", field)] = pad
		}
		events[n] = map[string]any{"event_type": "x", "event_data": data}
	}
	w.call(http.MethodPost, wire+sandbox+"/events/batch",
		map[string]any{"spool_id": "s", "first": first, "events": events})
}

// deaf opens a stream on a connection of its own with a small buffer, and reads nothing.
func (w *world) deaf(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	tcp, ok := conn.(*net.TCPConn)
	require.True(t, ok)
	require.NoError(t, tcp.SetReadBuffer(64<<10))
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path)
	require.NoError(t, err)
	return conn
}

// countOf reads a stream until it has got the number of events, which must arrive in order from 1 on.
func countOf(t *testing.T, conn net.Conn, most int) (seen int) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	for lines := bufio.NewReader(conn); seen < most; {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if id, found := strings.CutPrefix(strings.TrimSpace(line), "id: "); found {
			seen++
			require.Equal(t, strconv.Itoa(seen), id)
		}
	}
	return seen
}
