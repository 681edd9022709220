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

// conn is the connection of a request that counts what time its sender was given.
type conn struct {
	http.ResponseWriter

	deadlines []time.Time
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.deadlines = append(c.deadlines, t)
	return nil
}

// sent is a body that comes to a room.
func sent(m *room, c *conn, body io.Reader, headers ...string) (*part, func() error) {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = -1
	for n := 0; n+1 < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	mine := &part{room: m, conn: http.NewResponseController(c)}
	return mine, func() error { return readBody(report{Request: r, part: mine}, 2<<20, new(bytes.Buffer)) }
}

// takes is how many bytes the bodies in a room are counted with.
func (r *room) takes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.large.taken + r.small.taken
}

// Bodies that do not fit beside the others are turned away; one alone always fits, who leaves
// makes room, and who announces much takes none.
func TestBodiesShareARoom(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	m := &room{bytes: 1000 * kib}
	idle, w := io.Pipe()
	silent, read := sent(m, &conn{}, idle)
	done := make(chan error, 1)
	go func() { done <- read() }()
	_, err := w.Write([]byte("x"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.takes() == 1 }, time.Minute, time.Millisecond, "what was read is counted a moment later")
	large, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", 900*kib)))
	require.NoError(t, read(), "one byte came, of whatever was announced")
	for _, headers := range [][]string{nil, {"Content-Encoding", "gzip"}} {
		body := []byte(strings.Repeat("x", 200*kib))
		if headers != nil {
			body = gzipped(t, body)
		}
		late, read := sent(m, &conn{}, bytes.NewReader(body), headers...)
		require.Equal(t, task.CodeUnavailable, task.CodeOf(read()), "counted as it is unpacked")
		require.EqualValues(t, 900*kib+1, m.takes(), "what is refused takes nothing")
		late.leave()
	}
	small, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", smallBody)))
	require.NoError(t, read(), "small ones have room of their own")
	require.NoError(t, w.Close())
	require.NoError(t, <-done)
	for _, one := range []*part{large, silent, small} {
		one.leave()
	}
	alone, read := sent(m, &conn{}, strings.NewReader(strings.Repeat("x", 2000*kib)))
	require.NoError(t, read())
	alone.leave()
	require.Zero(t, m.takes())
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

// A sender has half a minute for each piece; the answer may take as long as it takes.
func TestABodyMustKeepComing(t *testing.T) {
	t.Parallel()
	c := &conn{}
	mine, read := sent(&room{bytes: 1 << 30}, c, strings.NewReader(strings.Repeat("x", 3*bodyPace)))
	defer mine.leave()
	require.NoError(t, read())
	require.Greater(t, len(c.deadlines), 3)
	last := len(c.deadlines) - 1
	require.True(t, c.deadlines[last].IsZero())
	for _, deadline := range c.deadlines[:last] {
		require.WithinDuration(t, time.Now(), deadline, 2*bodyPatience)
	}
}

// Most reports come in one piece with their heads; the rest of the others has its time.
func TestABodyThatComesWithItsHeadNeedsNoTime(t *testing.T) {
	t.Parallel()
	for pieces, want := range map[io.Reader]int{
		iotest.DataErrReader(strings.NewReader("{}")):                       0,
		iotest.DataErrReader(iotest.OneByteReader(strings.NewReader("{}"))): 2, // until it came, and none while it is answered
	} {
		c := &conn{}
		_, read := sent(&room{bytes: 1 << 20}, c, pieces)
		require.NoError(t, read())
		require.Len(t, c.deadlines, want)
	}
}
