package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"runtime/debug"
	"time"
)

// streamConn is the answer of a stream on a connection that net/http has handed over. The request, the buffers and the
// deep stack of its handlers are not kept as long as the stream lasts: they are 38 kB a stream, this is 13 kB.
type streamConn struct {
	net.Conn

	head http.Header
}

// takeOver returns the connection of a request; false: it cannot be had, and nothing was written.
func takeOver(w http.ResponseWriter, r *http.Request) (*streamConn, bool) {
	if r.ProtoMajor != 1 || !r.ProtoAtLeast(1, 1) {
		return nil, false
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, false
	}
	return &streamConn{Conn: conn, head: w.Header()}, true
}

// begin writes the head of the answer.
func (c *streamConn) begin() error {
	c.head.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	c.head.Set("Transfer-Encoding", "chunked")
	c.head.Set("Connection", "close")
	var text bytes.Buffer
	text.WriteString("HTTP/1.1 200 OK\r\n")
	_ = c.head.Write(&text) // never fails
	text.WriteString("\r\n")
	c.head = nil
	if err := c.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	_, err := c.Conn.Write(text.Bytes())
	return err
}

// watch calls left once the reader has gone. What a reader sends is dropped.
func (c *streamConn) watch(log *slog.Logger, left context.CancelFunc) {
	defer left()
	defer caught(log, nil)
	var some [64]byte
	for {
		if _, err := c.Read(some[:]); err != nil {
			return
		}
	}
}

// Write implements [http.ResponseWriter]: one chunk, in one call.
func (c *streamConn) Write(text []byte) (int, error) {
	var chunk bytes.Buffer
	_, _ = httputil.NewChunkedWriter(&chunk).Write(text) // never fails
	if _, err := c.Conn.Write(chunk.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Header implements [http.ResponseWriter]; the head is written.
func (c *streamConn) Header() http.Header { return http.Header{} }

func (c *streamConn) WriteHeader(int) {}

// Flush implements [http.Flusher]: nothing is held back.
func (c *streamConn) Flush() {}

// end ends the answer and the connection.
func (c *streamConn) end() {
	_ = httputil.NewChunkedWriter(c.Conn).Close() // a reader who left is nobody's fault
	_, _ = c.Conn.Write([]byte("\r\n"))
	_ = c.Close()
}

// serveConn outlives the request.
func (a *API) serveConn(f feed, c *streamConn) {
	defer a.streams.Done()
	defer c.end()
	defer caught(a.log, nil)
	ctx, left := context.WithCancel(context.Background())
	defer left()
	if err := c.begin(); err != nil {
		return
	}
	go c.watch(a.log, left)
	a.serveStream(ctx, f, c)
}

// caught ends a panic outside of any request, where it would end the process: it is logged,
// and becomes the error at err, if there is one.
func caught(log *slog.Logger, err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	log.Error("stream panicked", slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	if err != nil {
		*err = fmt.Errorf("panic: %v", cause)
	}
}

// awaitStreams waits until those that were told to stop have ended, at most until ctx does.
func (a *API) awaitStreams(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		a.streams.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
