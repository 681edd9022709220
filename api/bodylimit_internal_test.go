package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// conn is the connection of a request. It counts the read deadlines that its sender got.
type conn struct {
	http.ResponseWriter

	deadlines []time.Time
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.deadlines = append(c.deadlines, t)
	return nil
}

// sent returns a body that a limit counts.
func sent(m *bodyLimit, c *conn, body io.Reader, headers ...string) (*limitedBody, func() error) {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = -1
	for n := 0; n+1 < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	mine := &limitedBody{limit: m, request: r, conn: http.NewResponseController(c)}
	return mine, func() error { return (&report{Request: r, in: mine}).readBody(2<<20, new(bytes.Buffer)) }
}

// takes returns the counted bytes of bodies.
func (l *bodyLimit) takes() int64 { return l.large.held.Load() + l.small.held.Load() }

// Bodies that do not fit are rejected. A single body always fits, a finished body frees its room, and an announced
// length alone takes no room.
func TestBodyLimit_RejectsBodiesThatDoNotFit(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	m := newBodyLimit(0, 1000*kib)
	m.small, m.wait = newBodyClass(250*kib, smallBody), time.Millisecond
	idle, w := io.Pipe()
	silent, read := sent(m, &conn{}, idle)
	done := make(chan error, 1)
	go func() { done <- read() }()
	_, err := w.Write([]byte("x"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.takes() == smallBody }, time.Minute, time.Millisecond,
		"what was read is counted a moment later")
	large, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", 900*kib)))
	require.NoError(t, read(), "one piece is counted, of whatever was announced")
	for _, headers := range [][]string{nil, {"Content-Encoding", "gzip"}} {
		body := []byte(strings.Repeat("x", 200*kib))
		if headers != nil {
			body = gzipped(t, body)
		}
		late, read := sent(m, &conn{}, bytes.NewReader(body), headers...)
		require.Equal(t, task.CodeUnavailable, task.CodeOf(read()), "counted as it is unpacked")
		require.EqualValues(t, 15*smallBody+smallBody, m.takes(), "what is refused takes nothing")
		late.leave()
	}
	small, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", smallBody-1)))
	require.NoError(t, read(), "small ones have room of their own")
	require.NoError(t, w.Close())
	require.NoError(t, <-done)
	for _, one := range []*limitedBody{large, silent, small} {
		one.leave()
	}
	alone, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", 1000*kib)))
	require.NoError(t, read())
	alone.leave()
	require.Zero(t, m.takes())
}

// A body that finds no room waits for others to end.
func TestBodyLimit_BodyWaitsForRoom(t *testing.T) {
	t.Parallel()
	m := newBodyLimit(0, 1<<20)
	m.wait = time.Minute
	first, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", 1<<20)))
	require.NoError(t, read())
	c := &conn{}
	second, read := sent(m, c, strings.NewReader(strings.Repeat("x", 1<<20)))
	done := make(chan error, 1)
	go func() { done <- read() }()
	require.Eventually(t, func() bool { return m.small.held.Load() > 0 }, time.Minute,
		time.Millisecond, "its beginning is counted")
	first.leave()
	require.NoError(t, <-done)
	second.leave()
	require.Zero(t, m.takes())
	require.Empty(t, m.large.sandboxes)
}

func TestBodyLimit_WaitIsBounded(t *testing.T) {
	t.Parallel()
	m := newBodyLimit(0, 1<<20)
	m.wait = time.Millisecond
	first, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", 1<<20)))
	require.NoError(t, read())
	defer first.leave()
	before := m.takes()
	late, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", 1<<20)))
	require.Equal(t, task.CodeUnavailable, task.CodeOf(read()))
	require.Nil(t, late.class)
	require.Equal(t, before, m.takes())
}

func gzipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

// A sender gets half a minute for each piece; the deadline does not apply to the response.
func TestBodyLimit_StalledBodyTimesOut(t *testing.T) {
	t.Parallel()
	c := &conn{}
	mine, read := sent(newBodyLimit(1<<30, 0), c, strings.NewReader(strings.Repeat("x", 4*smallBody)))
	defer mine.leave()
	require.NoError(t, read())
	require.Greater(t, len(c.deadlines), 3)
	last := len(c.deadlines) - 1
	require.True(t, c.deadlines[last].IsZero())
	for _, deadline := range c.deadlines[:last] {
		require.WithinDuration(t, time.Now(), deadline, 2*bodyPatience)
	}
}

// Most events arrive together with their headers and need no deadline; other bodies get one for the rest.
func TestBodyLimit_BodyWithItsHeadersNeedsNoDeadline(t *testing.T) {
	t.Parallel()
	for pieces, want := range map[io.Reader]int{
		iotest.DataErrReader(strings.NewReader("{}")):                       0,
		iotest.DataErrReader(iotest.OneByteReader(strings.NewReader("{}"))): 2, // none during the response
	} {
		c := &conn{}
		_, read := sent(newBodyLimit(1<<20, 0), c, pieces)
		require.NoError(t, read())
		require.Len(t, c.deadlines, want)
	}
}
