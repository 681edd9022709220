//go:build linux

package docker

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
)

// Link is a way to an engine that can be cut, so that the engine seems to be away.
type Link struct {
	Host string // its address

	listener net.Listener
	engine   string
	mu       sync.Mutex
	open     map[net.Conn]struct{} // nil: cut; guarded by mu
	group    sync.WaitGroup
}

// Link opens a way to the engine at a socket below dir.
func (e *Engine) Link(ctx context.Context, dir string) (*Link, error) {
	socket := filepath.Join(dir, "engine.sock")
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	l := &Link{
		Host: "unix://" + socket, listener: listener, engine: strings.TrimPrefix(e.Host, "unix://"),
		open: make(map[net.Conn]struct{}),
	}
	l.group.Go(l.serve)
	return l, nil
}

func (l *Link) serve() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.group.Go(func() { l.carry(from) })
	}
}

func (l *Link) carry(from net.Conn) {
	defer from.Close() //nolint:errcheck // one side is gone
	to, err := new(net.Dialer).DialContext(context.Background(), "unix", l.engine)
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // one side is gone
	if !l.add(from, to) {
		return
	}
	defer l.forget(from, to)
	var both sync.WaitGroup
	both.Go(func() { pass(to, from) })
	pass(from, to)
	both.Wait()
}

// pass carries one direction, and its end.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(*net.UnixConn); ok {
		_ = half.CloseWrite()
	}
}

func (l *Link) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return false
	}
	for _, c := range conns {
		l.open[c] = struct{}{}
	}
	return true
}

func (l *Link) forget(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.open, c)
	}
}

// Cut ends every connection and refuses new ones.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// Mend lets connections through again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[net.Conn]struct{})
	}
}

// Close cuts it for good.
func (l *Link) Close() error {
	err := l.listener.Close()
	l.Cut()
	l.group.Wait()
	return err
}
