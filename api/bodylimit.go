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

// bodyLimit bounds the bytes of request bodies in memory, in total and per sandbox, from arrival to response, so that
// bodies do not pile up while the database hangs. Small bodies are a class of their own, so that heartbeats pass while
// batches fill the other class.
type bodyLimit struct {
	large, small *bodyClass
	wait         time.Duration // maximum wait of one body for room, after which it is rejected
	haste        time.Duration // see bodyHaste
}

const (
	bodyRoom   = 64 << 20
	uploadRoom = 32 << 20 // separate, so that transcripts and packs do not block events
	bodyParts  = 4        // sandbox shares per class; also the ratio of the large class to the small class

	firstPiece   = 4 << 10  // counted after it was read, since most bodies arrive together with their headers
	smallBody    = 64 << 10 // longest small body; a body is counted in steps of this size
	bodyPatience = 30 * time.Second
	bodyHaste    = time.Second     // replaces bodyPatience when half of the room is in use
	bodyWait     = 2 * time.Second // longer than bodyHaste, so that hurried bodies can end
)

var errNoRoom = errors.New("no room for the body")

// newBodyLimit returns a limit of the given bytes. A body of the longest length always fits.
func newBodyLimit(bytes, longest int64) *bodyLimit {
	longest += smallBody // one more step is counted to find the end
	return &bodyLimit{
		large: newBodyClass(bytes, longest), small: newBodyClass(bytes/bodyParts, smallBody), wait: bodyWait,
		haste: bodyHaste,
	}
}

// bodyClass tracks the bytes in use by one class of request bodies.
type bodyClass struct {
	size, share int64
	all         *semaphore.Weighted
	held        atomic.Int64 // part of size in use

	mu        sync.Mutex
	sandboxes map[string]*sandboxShare
}

// sandboxShare is the maximum of one sandbox in a class. It exists while bodies use it.
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
		if sandboxID == "" { // the route has no sandbox
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

// limitedBody reads and counts one request body, after decompression.
type limitedBody struct {
	limit     *bodyLimit
	sandboxID string // empty: the route has none
	request   *http.Request
	conn      *http.ResponseController

	src    io.Reader
	length int64 // Content-Length; 0: unknown
	read   int64
	due    int64 // bytes that may be read before more is counted; 0: what arrived with the headers has not been read

	class *bodyClass // class in which the body is counted; nil: none yet
	share *sandboxShare
	held  int64
	until time.Time // end of its wait for room; zero: it has not waited
}

// Read implements [io.Reader]. A body that arrives with its headers is counted after it was read. Each next piece of
// any other body is counted before its sender gets time for it. A sender that announces much and sends little therefore
// blocks no other sender.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.read > 0 && b.read >= b.due && b.read != b.length {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	most := int64(firstPiece)
	if b.due > 0 {
		most = max(b.due-b.read, 1) // for a complete body, its end
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

// next counts the next piece of a body and extends the read deadline for it.
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
	_ = b.conn.SetReadDeadline(time.Now().Add(patience)) // if the server does not support it, its own timeout applies
	return nil
}

// reserve counts n more bytes. A body that has outgrown its class moves to the next one.
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

// join moves the body to another class, with n more bytes.
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

// await waits until n bytes are free in room.
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

// release frees n bytes.
func (b *limitedBody) release(n int64) {
	b.held -= n
	b.class.held.Add(-n)
	b.class.all.Release(n)
	b.share.Release(n)
}

// leave frees all bytes of the body.
func (b *limitedBody) leave() {
	if b.class == nil {
		return
	}
	b.release(b.held)
	b.class.leave(b.sandboxID, b.share)
	b.class, b.share = nil, nil
}

// end clears the read deadline of a complete body, which would otherwise end the request before its response.
func (b *limitedBody) end() {
	if b.due > 0 {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
}
