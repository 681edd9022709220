package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/omoi-dev/omoi/internal/task"
)

// room bounds what the bodies of reports take together, from when their bytes come until they
// are answered: what a hanging database does not take must not pile up in memory.
type room struct {
	bytes int64
	taken atomic.Int64
}

const (
	bodyRoom       = 64 << 20
	transcriptRoom = 32 << 20 // of their own, so that transcripts keep no events out
)

// part is what one body takes of the room. It reads the body as it is after unpacking.
type part struct {
	room *room
	src  io.Reader
	conn *http.ResponseController
	read int64
	due  int64 // bytes after which the sender gets more time
	cut  int64 // of the event's transcript, in bytes
}

const (
	bodyPace     = 256 << 10 // bytes that must come within bodyPatience
	bodyPatience = 30 * time.Second
)

var errNoRoom = errors.New("no room for the body")

// Read implements [io.Reader]. Room is taken for what came, not for what a sender announces:
// who announces much and sends little keeps nobody out. A body alone always fits.
func (p *part) Read(b []byte) (int, error) {
	if p.read >= p.due {
		p.due = p.read + bodyPace
		_ = p.conn.SetReadDeadline(time.Now().Add(bodyPatience)) // not every server can: then its own timeout holds
	}
	n, err := p.src.Read(b)
	p.read += int64(n)
	if taken := p.room.taken.Add(int64(n)); taken > p.room.bytes && taken > p.read {
		return n, errNoRoom
	}
	return n, err
}

// give gives room back that a body does not need any more.
func (p *part) give(n int64) {
	p.read, p.due = p.read-n, p.due-n
	p.room.taken.Add(-n)
}

// whole ends the haste: a deadline that passes while the answer is made would end the request.
func (p *part) whole() { _ = p.conn.SetReadDeadline(time.Time{}) }

// within is the middleware of a route that huma serves: it takes the body into a room, whole and
// unpacked, before anything else does.
func (a *API) within(here *room, limit int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humagin.Unwrap(ctx)
		mine := &part{room: here, conn: http.NewResponseController(c.Writer)}
		defer mine.leave()
		var body bytes.Buffer
		if err := readBody(report{Request: c.Request, part: mine}, limit, &body); err != nil {
			a.writeError(c.Writer, c.Request.WithContext(ctx.Context()), err)
			return
		}
		c.Request.Body, c.Request.ContentLength = io.NopCloser(&body), int64(body.Len())
		c.Request.Header.Del("Content-Encoding")
		next(ctx)
	}
}

func (p *part) leave() { p.room.taken.Add(-p.read) }

func noRoom() error {
	return task.Errorf(task.CodeUnavailable, "Too many reports are waiting. Send the same again in a second.")
}
