package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// detached is the answer of a stream on a connection that net/http has let go. The request,
// the buffers and the deep stack of its handlers are not kept as long as the stream lasts:
// of many thousand streams they would be most of the memory.
type detached struct {
	conn net.Conn
	head http.Header
}

// detach takes the connection of a request over; false: it cannot, and nothing was written.
func detach(w http.ResponseWriter, r *http.Request) (*detached, bool) {
	if r.ProtoMajor != 1 || !r.ProtoAtLeast(1, 1) {
		return nil, false
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, false
	}
	return &detached{conn: conn, head: w.Header()}, true
}

// begin writes the head of the answer.
func (d *detached) begin() error {
	d.head.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	d.head.Set("Transfer-Encoding", "chunked")
	d.head.Set("Connection", "close")
	var text bytes.Buffer
	text.WriteString("HTTP/1.1 200 OK\r\n")
	_ = d.head.Write(&text) // never fails
	text.WriteString("\r\n")
	d.head = nil
	if err := d.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	_, err := d.conn.Write(text.Bytes())
	return err
}

// watch calls left once the reader has gone. What a reader sends is dropped.
func (d *detached) watch(log *slog.Logger, left context.CancelFunc) {
	defer left()
	defer caught(log, nil)
	var some [64]byte
	for {
		if _, err := d.conn.Read(some[:]); err != nil {
			return
		}
	}
}

// Write implements [http.ResponseWriter]: one chunk, in one call.
func (d *detached) Write(text []byte) (int, error) {
	const hex = 16
	chunk := net.Buffers{append(strconv.AppendInt(nil, int64(len(text)), hex), "\r\n"...), text, []byte("\r\n")}
	if _, err := chunk.WriteTo(d.conn); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Header implements [http.ResponseWriter]; the head is written.
func (d *detached) Header() http.Header { return http.Header{} }

// WriteHeader implements [http.ResponseWriter].
func (d *detached) WriteHeader(int) {}

// Flush implements [http.Flusher]: nothing is held back.
func (d *detached) Flush() {}

// SetWriteDeadline is for [http.ResponseController].
func (d *detached) SetWriteDeadline(at time.Time) error { return d.conn.SetWriteDeadline(at) }

// SetReadDeadline likewise.
func (d *detached) SetReadDeadline(at time.Time) error { return d.conn.SetReadDeadline(at) }

// end ends the answer and the connection.
func (d *detached) end() {
	_, _ = d.conn.Write([]byte("0\r\n\r\n")) // a reader who left is nobody's fault
	_ = d.conn.Close()
}

// serveDetached outlives its request.
func (a *API) serveDetached(f feed, d *detached) {
	defer a.streams.Done()
	defer d.end()
	defer caught(a.log, nil)
	ctx, left := context.WithCancel(context.Background())
	defer left()
	if err := d.begin(); err != nil {
		return
	}
	go d.watch(a.log, left)
	a.serveStream(ctx, f, d)
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
