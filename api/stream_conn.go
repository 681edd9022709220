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

// streamConn is the response of a stream on a hijacked connection. The request, its buffers and the stack of its
// handlers are freed while the stream lasts: 13 kB instead of 38 kB per stream.
type streamConn struct {
	net.Conn

	head http.Header
}

// takeOver hijacks the connection of a request. It returns false if it could not and nothing was written.
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

// begin writes the response headers.
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

// watch calls left when the reader has disconnected. It drops what a reader sends.
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

// Header implements [http.ResponseWriter]; the headers have already been sent.
func (c *streamConn) Header() http.Header { return http.Header{} }

func (c *streamConn) WriteHeader(int) {}

// Flush implements [http.Flusher]; nothing is buffered.
func (c *streamConn) Flush() {}

// end ends the response and the connection.
func (c *streamConn) end() {
	_ = httputil.NewChunkedWriter(c.Conn).Close() // the reader may have disconnected
	_, _ = c.Conn.Write([]byte("\r\n"))
	_ = c.Close()
}

// serveConn serves a stream after its request has ended.
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

// caught recovers from a panic outside of a request, which would end the process. It logs the panic and stores it in
// err, unless err is nil.
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

// awaitStreams waits until all stopped streams have ended or ctx ends.
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
