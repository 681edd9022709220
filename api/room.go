package api

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/omoi-dev/omoi/internal/task"
)

// room bounds what the bodies of reports take together, from when their bytes come until they
// are answered: what a hanging database does not take must not pile up in memory. Small bodies
// have a quarter of it besides, so that heartbeats pass where batches fill the rest.
type room struct {
	bytes int64
	haste time.Duration // 0: bodyHaste

	mu           sync.Mutex
	large, small hall
}

const (
	bodyRoom       = 64 << 20
	transcriptRoom = 32 << 20 // of their own, so that transcripts keep no events out
	smallBody      = 64 << 10
)

// part is what one body takes of the room. It reads the body as it is after unpacking.
type part struct {
	room *room
	who  string // the sandbox; empty: the route has none
	src  io.Reader
	conn *http.ResponseController
	read int64
	due  int64 // bytes after which the sender gets more time; 0: what came with the head has not been read
	all  int64 // as much as is to come; 0: that is not known
	cut  int64 // of the event's transcript, in bytes

	timed bool // its connection has a deadline of its own

	// All of these belong to the room.
	in           *hall     // where it is counted; nil: nowhere
	since        time.Time // when its sender was given time, or its first bytes came
	older, newer *part     // of those that are still coming
	coming       bool
	ended        bool // its place was given to another
}

const (
	bodyPace     = 256 << 10 // bytes that must come within bodyPatience
	bodyPatience = 30 * time.Second
	bodyHaste    = time.Second // instead, while others find no room
)

var (
	errNoRoom  = errors.New("no room for the body")
	errTooSlow = errors.New("the body came too slowly while others found no room")
)

// Read implements [io.Reader]. Room is taken for what came, not for what a sender announces:
// who announces much and sends little keeps nobody out. A body alone always fits. One that comes
// with its head needs no time, and until its first bytes the server's own timeout holds.
func (p *part) Read(b []byte) (int, error) {
	if p.read > 0 && p.read >= p.due && p.read != p.all {
		p.due, p.timed = p.read+bodyPace, true
		_ = p.conn.SetReadDeadline(time.Now().Add(bodyPatience)) // not every server can: then its own timeout holds
		if !p.room.renew(p) {
			return 0, errTooSlow
		}
	}
	n, err := p.src.Read(b)
	if refused := p.room.take(p, int64(n)); refused != nil {
		return n, refused
	}
	return n, err
}

// take counts what came of a body. Where that is too much, those that have stopped make room.
func (r *room) take(p *part, n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p.ended:
		return errTooSlow
	case n == 0:
		return nil
	}
	h := r.count(p, n)
	if h.full(p) {
		h.clear(p, cmp.Or(r.haste, bodyHaste))
	}
	if h.full(p) {
		return errNoRoom
	}
	return nil
}

// count moves a body that is small no more to the large ones.
func (r *room) count(p *part, n int64) *hall {
	r.large.bytes, r.small.bytes = r.bytes, r.bytes/smallPart
	h := &r.small
	if p.in == &r.large || p.read+n > smallBody {
		h = &r.large
	}
	if p.in != nil && p.in != h {
		p.in.remove(p)
	}
	p.read += n
	if p.in == nil {
		h.enter(p)
	} else {
		h.add(p.who, n)
	}
	return h
}

// renew notes that a sender was given more time; false: its body's place was given away.
func (r *room) renew(p *part) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.coming {
		p.in.forget(p)
		p.in.await(p)
	}
	return !p.ended
}

// give gives room back that a body does not need any more.
func (p *part) give(n int64) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.read, p.due = p.read-n, p.due-n
	if p.in != nil {
		p.in.add(p.who, -n)
	}
}

// whole ends the haste: a deadline that passes while the answer is made would end the request.
func (p *part) whole() error {
	if !p.settle() {
		return errTooSlow
	}
	if p.timed {
		_ = p.conn.SetReadDeadline(time.Time{})
	}
	return nil
}

// settle keeps a body's place until it leaves; false: it was given away.
func (p *part) settle() bool {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.coming {
		p.in.forget(p)
	}
	return !p.ended
}

// leave gives back all that is left.
func (p *part) leave() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.in != nil {
		p.in.remove(p)
	}
}

// within is the middleware of a route that huma serves: it takes the body into a room, whole and
// unpacked, before anything else does.
func (a *API) within(here *room, limit int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humagin.Unwrap(ctx)
		mine := &part{room: here, who: c.Param("sandbox_id"), conn: http.NewResponseController(c.Writer)}
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

func noRoom() error {
	return task.Errorf(task.CodeUnavailable, "Too many reports are waiting. Send the same again in a second.")
}
