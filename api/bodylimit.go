package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// bodyLimit bounds how many bytes of request bodies are in memory, in all and for each sandbox, from their arrival to
// their answer: what a hanging database does not take must not pile up. Small bodies are a class of their own, so that
// heartbeats pass where batches fill the other.
type bodyLimit struct {
	large, small *bodyClass
	wait         time.Duration // for room, of one body in all; then it is refused
	haste        time.Duration // see bodyHaste
}

const (
	bodyRoom       = 64 << 20
	transcriptRoom = 32 << 20 // of their own, so that transcripts keep no events out
	bodyParts      = 4        // a class has so many shares of sandboxes, and the large class so many times the small one

	firstPiece   = 4 << 10  // is counted once it is here, since most bodies come with their heads
	smallBody    = 64 << 10 // and what is counted of a body at a time
	bodyPatience = 30 * time.Second
	bodyHaste    = time.Second     // instead, where half of the room is in use
	bodyWait     = 2 * time.Second // long enough for the bodies in haste to end
)

var errNoRoom = errors.New("no room for the body")

// newBodyLimit returns a limit of that many bytes. One body of the longest length always fits.
func newBodyLimit(bytes, longest int64) *bodyLimit {
	longest += smallBody // counted to look for the end
	return &bodyLimit{
		large: newBodyClass(bytes, longest), small: newBodyClass(bytes/bodyParts, smallBody), wait: bodyWait,
		haste: bodyHaste,
	}
}

// bodyClass counts the bodies of one class.
type bodyClass struct {
	size, share int64
	all         *semaphore.Weighted
	held        atomic.Int64 // of size

	mu        sync.Mutex
	sandboxes map[string]*sandboxShare
}

// sandboxShare is what one sandbox may have of a class. It exists while bodies use it.
type sandboxShare struct {
	*semaphore.Weighted

	bodies int
}

func newBodyClass(bytes, longest int64) *bodyClass {
	size := max(bytes, longest)
	return &bodyClass{
		size: size, share: max(bytes/bodyParts, longest), all: semaphore.NewWeighted(size),
		sandboxes: map[string]*sandboxShare{},
	}
}

func (c *bodyClass) enter(sandboxID string) *sandboxShare {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sandboxes[sandboxID]
	if s == nil {
		share := c.share
		if sandboxID == "" { // a route without sandboxes
			share = c.size
		}
		s = &sandboxShare{Weighted: semaphore.NewWeighted(share)}
		c.sandboxes[sandboxID] = s
	}
	s.bodies++
	return s
}

func (c *bodyClass) leave(sandboxID string, s *sandboxShare) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.bodies--; s.bodies == 0 {
		delete(c.sandboxes, sandboxID)
	}
}

// limitedBody reads one request body, as it is after unpacking, and counts it.
type limitedBody struct {
	limit     *bodyLimit
	sandboxID string // empty: the route has none
	request   *http.Request
	conn      *http.ResponseController

	src    io.Reader
	length int64 // as announced; 0: unknown
	read   int64
	due    int64 // as much as may be read before more is counted; 0: what came with the head has not been read

	class *bodyClass // that counts it; nil: none yet
	share *sandboxShare
	held  int64
	until time.Time // when its wait for room ends; zero: it has not waited
}

// Read implements [io.Reader]. A body that comes with its head is counted once it is here. Of any other the next piece
// is counted before its sender gets time for it: a sender that announces much and sends little keeps nobody out.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.read > 0 && b.read >= b.due && b.read != b.length {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	most := int64(firstPiece)
	if b.due > 0 {
		most = max(b.due-b.read, 1) // of a whole body its end
	}
	n, err := b.src.Read(p[:min(int64(len(p)), most)])
	b.read += int64(n)
	if b.due == 0 && n > 0 {
		if refused := b.reserve(int64(n)); refused != nil {
			return n, refused
		}
	}
	return n, err
}

// next counts the next piece of a body, and gives its sender time for it.
func (b *limitedBody) next() error {
	n := int64(smallBody)
	if b.held < smallBody {
		n -= b.held
	}
	if b.length > 0 {
		n = min(n, b.length-b.read)
	}
	if err := b.reserve(n); err != nil {
		return err
	}
	patience := bodyPatience
	if b.class.held.Load() > b.class.size/2 {
		patience = b.limit.haste
	}
	b.due = b.read + n
	_ = b.conn.SetReadDeadline(time.Now().Add(patience)) // not every server can: then its own timeout holds
	return nil
}

// reserve counts n more bytes. A body that has outgrown its class is counted in the next.
func (b *limitedBody) reserve(n int64) error {
	switch {
	case b.class == nil:
		return b.join(b.limit.small, n)
	case b.class == b.limit.small && b.held+n > smallBody:
		return b.join(b.limit.large, n)
	}
	if err := b.acquire(b.class, b.share, n); err != nil {
		return err
	}
	b.held += n
	return nil
}

// join counts the body in another class, with n more bytes.
func (b *limitedBody) join(class *bodyClass, n int64) error {
	share, all := class.enter(b.sandboxID), b.held+n
	if err := b.acquire(class, share, all); err != nil {
		class.leave(b.sandboxID, share)
		return err
	}
	b.leave()
	b.class, b.share, b.held = class, share, all
	return nil
}

func (b *limitedBody) acquire(class *bodyClass, share *sandboxShare, n int64) error {
	if err := b.await(share.Weighted, n); err != nil {
		return err
	}
	if err := b.await(class.all, n); err != nil {
		share.Release(n)
		return err
	}
	class.held.Add(n)
	return nil
}

// await waits for room.
func (b *limitedBody) await(room *semaphore.Weighted, n int64) error {
	if room.TryAcquire(n) {
		return nil
	}
	if b.until.IsZero() {
		b.until = time.Now().Add(b.limit.wait)
	}
	ctx, cancel := context.WithDeadline(b.request.Context(), b.until)
	defer cancel()
	if room.Acquire(ctx, n) != nil {
		return errNoRoom
	}
	return nil
}

// release gives n bytes back.
func (b *limitedBody) release(n int64) {
	b.held -= n
	b.class.held.Add(-n)
	b.class.all.Release(n)
	b.share.Release(n)
}

// leave gives back all that is left.
func (b *limitedBody) leave() {
	if b.class == nil {
		return
	}
	b.release(b.held)
	b.class.leave(b.sandboxID, b.share)
	b.class, b.share = nil, nil
}

// end lifts the deadline of a body that has arrived: it would end the request while that is answered.
func (b *limitedBody) end() {
	if b.due > 0 {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
}
