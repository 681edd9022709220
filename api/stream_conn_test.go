package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/postgres"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// TestStream_MemoryOfIdleStreams opens many streams at once. It does not run beside other
// tests, whose memory would be counted.
//
//nolint:paralleltest // see above
func TestStream_MemoryOfIdleStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: the race detector has memory of its own")
	}
	const streams, most = 400, 14 << 10 // bytes; 25 kB with what net/http keeps of a request
	w := open(t)
	conns := make([]net.Conn, 0, streams)
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	conns = append(conns, w.listen(t)) // allocates what is allocated only once
	before := inUse()
	for len(conns) < streams+1 {
		conns = append(conns, w.listen(t))
	}
	var each uint64
	idle := func() bool { // stacks of what opened the streams shrink by half at each collection
		each = (inUse() - before) / streams
		return each < most
	}
	require.Eventually(t, idle, time.Minute, 10*time.Millisecond)
	t.Logf("%d bytes a stream", each)
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC() // stacks shrink by half at a time
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// listen opens a stream with minimal memory on the client's side, and waits for its first line.
func (w *world) listen(t *testing.T) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET /api/v1/sandboxes/b/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	require.NoError(t, err)
	var seen []byte
	for !strings.Contains(string(seen), "stream of events") {
		some := make([]byte, 512)
		n, err := conn.Read(some)
		require.NoError(t, err)
		seen = append(seen, some[:n]...)
	}
	return conn
}

func TestStream_HTTP10Client(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, "agent.started")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /api/v1/sandboxes/b/stream HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
	require.NoError(t, err)
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.NotContains(t, line, "chunked", "HTTP/1.0 knows no chunks")
		if strings.HasPrefix(line, "data: ") {
			return
		}
	}
}

// TestStream_EndsWithTheServer stops a server with open streams: each stream ends properly, and Serve waits for all.
func TestStream_EndsWithTheServer(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	a := api.New(api.Config{Open: true}, api.Deps{
		Ports: api.PortsOf(postgres.New(pool, postgres.Config{})), Bus: live.New(),
	})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- api.Serve(ctx, a, []net.Listener{listener}, time.Minute) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+listener.Addr().String()+"/api/v1/sandboxes/b/stream", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NotEmpty(t, response.Header.Get("X-Request-ID"))
	require.NotEmpty(t, response.Header.Get("Date"))
	stop()
	_, err = io.ReadAll(response.Body)
	require.NoError(t, err, "the answer ends as an answer does")
	require.NoError(t, <-served)
}

// TestStream_SharedQueriesReturnEachEventOnce has more sandboxes than concurrent queries, so that readers join waiting
// queries.
func TestStream_SharedQueriesReturnEachEventOnce(t *testing.T) {
	t.Parallel()
	const boxes, readers, total = 12, 4, 40
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
	var followers []*follower
	for n := range boxes * readers {
		f := w.follow(t, fmt.Sprintf("/api/v1/sandboxes/b%d/stream", n%boxes))
		defer f.close()
		followers = append(followers, f)
	}
	for n := range boxes {
		go func() {
			for event := range total {
				w.report(fmt.Sprintf("b%d", n), event+1, "agent.tool_use")
			}
		}()
	}
	for _, f := range followers {
		for n := range total {
			require.EqualValues(t, n+1, f.event().data.Sequence)
		}
	}
}
