package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/internal/ingest/transcriptcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// limitBody returns the body of a request, counted by limit. The caller must call leave.
func limitBody(c *gin.Context, limit *bodyLimit) *limitedBody {
	return &limitedBody{
		limit: limit, sandboxID: c.Param("sandbox_id"), request: c.Request, conn: http.NewResponseController(c.Writer),
	}
}

// within returns the middleware of a route that huma serves. It reads and decompresses the whole body before any other
// handler runs.
func (a *API) within(limit *bodyLimit, longest int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humagin.Unwrap(ctx)
		r := report{Request: c.Request, in: limitBody(c, limit)}
		defer r.in.leave()
		var body bytes.Buffer
		if err := r.readBody(longest, &body); err != nil {
			a.writeError(c.Writer, c.Request.WithContext(ctx.Context()), err)
			return
		}
		c.Request.Body, c.Request.ContentLength = io.NopCloser(&body), int64(body.Len())
		c.Request.Header.Del("Content-Encoding")
		next(ctx)
	}
}

// readBody reads a body of at most limit bytes after decompression. It also reads a rejected body, within bounds: a
// sender that reads the response only after sending its body would otherwise get a connection reset.
func (r *report) readBody(limit int64, into *bytes.Buffer) error {
	err := r.read(limit, into)
	switch {
	case err == nil:
		r.in.end()
	case isTooLong(err):
		r.drop(into)
		return httpError(http.StatusRequestEntityTooLarge, tooLong, inBytes(limit))
	case errors.Is(err, errNoRoom):
		r.drop(into)
		return task.Errorf(task.CodeUnavailable, "Too many requests are waiting. Next: send the request again in a second").WithKind(task.KindOverloaded)
	}
	return err
}

// drop releases the buffer while the rest is received.
func (r *report) drop(body *bytes.Buffer) {
	*body = bytes.Buffer{}
	r.in.leave()
	r.drain()
}

func (r *report) read(limit int64, into *bytes.Buffer) error {
	longest := limit
	if r.transcript > 0 {
		longest = longestReport
	}
	if r.ContentLength > longest {
		return &http.MaxBytesError{Limit: longest}
	}
	src, why, err := unpacked(r.Request, longest)
	if err != nil {
		return err
	}
	r.in.src = src
	if r.Header.Get("Content-Encoding") == "" {
		r.in.length = max(r.ContentLength, 0)
	}
	n, err := into.ReadFrom(io.LimitReader(r.in, limit+1))
	if err == nil && n > limit {
		err = r.readLong(limit, into)
	}
	if err == nil || isTooLong(err) || errors.Is(err, errNoRoom) {
		return err
	}
	return why(err)
}

const (
	// longestReport is the maximum number of bytes read of one event, most of which may be a transcript.
	longestReport = 256 << 20
	longStep      = 1 << 20
)

// readLong reads the rest of the body of an event that is longer than limit. A legacy worker puts the transcript of its
// run into its last event and resends the event until it is acknowledged. Only the end of the transcript is kept while
// it is received. The rest of the body must fit into limit.
func (r *report) readLong(limit int64, into *bytes.Buffer) error {
	long := transcriptcut.New(into, r.transcript)
	for {
		r.in.release(long.Scan())
		if int64(into.Len()-long.Kept()) > limit {
			return &http.MaxBytesError{Limit: limit}
		}
		n, err := into.ReadFrom(io.LimitReader(r.in, longStep))
		if n == 0 || err != nil {
			r.cut = long.Cut()
			return err
		}
	}
}

const (
	drainBytes    = 64 << 20
	drainPatience = 10 * time.Second
)

// drain reads the rest of an unwanted body. If the sender waits for "100 Continue", there is nothing to read. The read
// deadline that stays behind ends a sender that has not finished.
func (r *report) drain() {
	if r.in.read == 0 && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	_ = r.in.conn.SetReadDeadline(time.Now().Add(drainPatience)) // if unsupported, the server's timeout applies
	if n, err := io.Copy(io.Discard, io.LimitReader(r.Body, drainBytes)); err == nil && n < drainBytes {
		_ = r.in.conn.SetReadDeadline(time.Time{})
	}
}
