package shortcut

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Front stands before one net/http server. Its fields do not change once it serves.
type Front struct {
	// Handler is that of the server. Its answers are kept whole before they are sent, and of a
	// caller that leaves it learns nothing before it writes.
	Handler http.Handler
	// Takes reports whether requests of a method with a path are answered here.
	Takes func(method, path string) bool
	// MaxBody is the length of the longest body that is read here, in bytes; 0: there are none.
	MaxBody int64
	// Timeout is how long a caller may keep the server waiting.
	Timeout time.Duration

	turns sync.Pool

	mu      sync.Mutex
	ending  int           // connections that end once they have answered
	allDone chan struct{} // closed when there are none any more; nil: nobody waits for it
}

// Listener gives the server the connections of l. ctx is that of every request that is answered
// here; it does not end before the server is shut down.
func (f *Front) Listener(ctx context.Context, l net.Listener) net.Listener {
	return &listener{Listener: l, front: f, ctx: ctx}
}

type listener struct {
	net.Listener

	front *Front
	ctx   context.Context //nolint:containedctx // as of http.Server
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, front: l.front, ctx: l.ctx}, nil
}

// State is for [http.Server.ConnState].
func (f *Front) State(c net.Conn, state http.ConnState) {
	if own, ok := c.(*conn); ok && state == http.StateIdle {
		own.phase = idle
		own.limited.Store(0)
	}
}

// Wait waits, after the server was shut down, for what is still being answered here. Its error is
// that of ctx.
func (f *Front) Wait(ctx context.Context) error {
	f.mu.Lock()
	done := make(chan struct{})
	if f.ending == 0 {
		close(done)
	} else {
		f.allDone = done
	}
	f.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Front) await() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending++
}

func (f *Front) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending--; f.ending == 0 && f.allDone != nil {
		close(f.allDone)
		f.allDone = nil
	}
}

func (f *Front) turn() *turn {
	if t, ok := f.turns.Get().(*turn); ok {
		return t
	}
	return &turn{asked: http.Header{}, header: http.Header{}}
}

func (f *Front) put(t *turn) {
	t.conn, t.coming = nil, nil
	f.turns.Put(t)
}

func (f *Front) takes(h *head) bool {
	return h.simple && h.length <= f.MaxBody && isPlain(h.target) && f.Takes(h.method, h.target)
}

// isPlain reports whether a target is a path that is written in one way only.
func isPlain(target string) bool { return target[0] == '/' && isOf(target, "/-._~:") }
