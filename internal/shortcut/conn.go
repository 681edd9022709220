package shortcut

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// phase is what net/http is at on a connection.
type phase int

const (
	fresh phase = iota // the first request has not come
	busy               // with a request
	idle               // between two of them
)

// conn is a connection from which net/http gets only what the front leaves to it.
type conn struct {
	net.Conn

	front *Front
	ctx   context.Context //nolint:containedctx // of every request on the connection

	// These belong to whoever reads, one at a time.
	phase   phase
	foreign bool          // net/http alone knows where requests begin and end
	rest    int64         // bytes of its request that net/http has still to be given
	posted  bool          // the last request of net/http's was a POST, behind which it passes line ends over
	spare   int           // line ends that may stand before the next request
	early   []byte        // of the next request, what net/http has got with the one before
	same    *http.Request // what is the same in all requests; nil until the first

	limited atomic.Int64 // when the connection's deadlines were set here, by Unix, in ns; 0: others have set them

	mu        sync.Mutex
	answering bool
	closing   bool
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	switch {
	case c.foreign:
		return c.Conn.Read(p)
	case c.rest > 0:
		n, err := c.Conn.Read(p[:min(int64(len(p)), c.rest)])
		c.rest -= int64(n)
		return n, err
	case c.phase == busy: // it looks, by one byte, whether the caller is still there
		n, err := c.Conn.Read(p)
		if n == 1 && len(p) == 1 && c.early == nil {
			c.early = []byte{p[0]}
		} else if n > 0 {
			c.foreign = true
		}
		return n, err
	}
	return c.next(p)
}

// next answers requests until one comes that is net/http's.
func (c *conn) next(p []byte) (n int, err error) {
	for n == 0 && err == nil {
		if n, err = c.Conn.Read(p); n > 0 {
			n, err = c.answer(p, n)
		}
	}
	c.phase = busy
	return n, err
}

// answer answers the requests with which p[:n] begins, and moves what is left to its front.
func (c *conn) answer(p []byte, n int) (left int, err error) {
	t := c.front.turn()
	defer c.front.put(t)
	for n = c.pass(p, n); n > 0 && err == nil; n = c.pass(p, n) {
		part := p[:n]
		if c.early != nil {
			part = append(c.early, part...)
		}
		known := t.head.read(part)
		if !known || c.phase == fresh || c.early != nil || !c.front.takes(&t.head) {
			c.hand(&t.head, known, len(part))
			return n, nil
		}
		n, err = c.serve(t, p, n)
		c.spare = 0
		if t.head.method == http.MethodPost && !c.posted {
			c.spare = mostSpare
		}
	}
	return 0, err
}

// hand notes where the request ends of which net/http has so many bytes.
func (c *conn) hand(h *head, known bool, have int) {
	c.rest, c.early = int64(h.size)+h.length-int64(have), nil
	c.foreign, c.posted = !known || !h.simple || c.rest < 0, h.method == http.MethodPost
}

// mostSpare is how many bytes net/http passes over that old clients send behind what they post.
const mostSpare = 4

// pass passes over line ends before a request, and moves what is left to the front of p.
func (c *conn) pass(p []byte, n int) (left int) {
	at := 0
	for ; at < n && c.spare > 0; c.spare-- {
		if p[at] != '\r' && p[at] != '\n' {
			c.spare = 0
			break
		}
		at++
	}
	return copy(p, p[at:n])
}

// serve answers one request, unless the connection is being closed.
func (c *conn) serve(t *turn, p []byte, n int) (left int, err error) {
	if !c.begin() {
		return 0, net.ErrClosed
	}
	defer func() {
		if c.end() {
			err = net.ErrClosed
		}
	}()
	end := min(int64(n), int64(t.head.size)+t.head.length)
	if err := t.serve(c, p[t.head.size:end]); err != nil {
		return 0, err
	}
	return copy(p, p[end:n]), nil
}

func (c *conn) blank() *http.Request {
	if c.same == nil {
		r := http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: c.RemoteAddr().String()}
		c.same = r.WithContext(context.WithValue(c.ctx, http.LocalAddrContextKey, c.LocalAddr()))
	}
	return c.same
}

// limit gives the caller time to send, and to take what is sent. To say so each time would cost
// more than to be a little late.
func (c *conn) limit() {
	const part = 12
	if now := time.Now(); now.UnixNano()-c.limited.Load() > int64(c.front.Timeout/part) {
		c.limited.Store(now.UnixNano())
		_ = c.SetDeadline(now.Add(c.front.Timeout)) // of a connection that is gone reading says so
	}
}

func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answering = !c.closing
	return c.answering
}

// end reports whether the connection was to be closed meanwhile, as it then is.
func (c *conn) end() (closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answering = false; c.closing {
		_ = c.Conn.Close() // nobody waits for it
		c.front.leave()
	}
	return c.closing
}

// CloseWrite is what net/http looks for, to end a connection without losing its answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// ReadFrom implements [io.ReaderFrom], by which net/http sends files.
func (c *conn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// NetConn is the connection itself, for who has taken it over from net/http.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close implements [net.Conn]. A request that is being answered here is answered first.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	later := c.answering && !c.closing
	if c.closing = true; later {
		c.front.await()
		return nil
	}
	return c.Conn.Close()
}
