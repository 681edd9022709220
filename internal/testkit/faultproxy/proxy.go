// Package faultproxy has a network that is as bad as networks are: a proxy between HTTP clients
// and servers that refuses, cuts, resets, delays and swallows by a seed. It repeats nothing
// by itself, so what arrives twice was sent twice. It is for tests.
package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Config says between whom the proxy stands, and how bad it is.
type Config struct {
	Seed    uint64        // of what becomes of the connections, by their number
	Servers []string      // host:port; each connection goes to one of them, at random
	Hold    time.Duration // longest delay; 100 ms
}

// Fates of connections, as [Proxy.Fates] counts them.
const (
	Refused    = "refused"     // reset before a byte passed
	BadGateway = "bad gateway" // answered 502 by the proxy, which also does so where no server answers
	Silent     = "silent"      // taken, held for a while without an answer, then reset
	RequestCut = "request cut" // ended within a request: the server has a part of it
	HalfClosed = "half closed" // a part of a request came, and nothing after it; the answer passes
	AnswerCut  = "answer cut"  // ended within an answer or before it: the server has done its work
	Delayed    = "delayed"     // a part of a request was held for a while
	Whole      = "whole"       // ended by client or server
)

// Proxy is a running proxy.
type Proxy struct {
	cfg      Config
	listener net.Listener
	context  context.Context //nolint:containedctx // the life of the proxy, which has no call of its own
	stop     context.CancelFunc
	group    sync.WaitGroup

	mu    sync.Mutex
	fates map[string]int
}

// Start listens on a free port of loopback.
func Start(cfg Config) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen as a proxy: %w", err)
	}
	if cfg.Hold <= 0 {
		cfg.Hold = 100 * time.Millisecond
	}
	p := &Proxy{cfg: cfg, listener: listener, fates: map[string]int{}}
	p.context, p.stop = context.WithCancel(context.Background())
	p.group.Go(p.listen)
	return p, nil
}

// URL is where clients find the proxy.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Fates counts what became of the connections so far.
func (p *Proxy) Fates() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.fates)
}

// Close ends every connection and waits until nothing of the proxy is left.
func (p *Proxy) Close() {
	p.stop()
	_ = p.listener.Close()
	p.group.Wait()
}

func (p *Proxy) listen() {
	for n := uint64(0); ; n++ {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of a client that left at once
		}
		client, ok := conn.(*net.TCPConn)
		if !ok {
			return // a TCP listener has no others
		}
		plan := p.plan(n)
		p.group.Go(func() { p.serve(client, plan) })
	}
}

func (p *Proxy) serve(client *net.TCPConn, plan plan) {
	defer context.AfterFunc(p.context, func() { _ = client.Close() })()
	defer client.Close() //nolint:errcheck // nothing is expected of it any more
	switch plan.fate {
	case Refused:
		p.note(Refused)
		abort(client)
	case BadGateway:
		p.badGateway(client)
	case Silent:
		p.note(Silent)
		p.wait(plan.hold)
		abort(client)
	default:
		p.join(client, plan)
	}
}

// join lets client and server speak until one of them ends it, or the plan does.
func (p *Proxy) join(client *net.TCPConn, plan plan) {
	conn, err := new(net.Dialer).DialContext(p.context, "tcp", p.cfg.Servers[plan.server%len(p.cfg.Servers)])
	if err != nil {
		p.badGateway(client)
		return
	}
	server, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	defer context.AfterFunc(p.context, func() { _ = server.Close() })()
	defer server.Close() //nolint:errcheck // likewise
	ends := make(chan string, 2)
	p.group.Go(func() { ends <- p.pass(server, client, plan.request, plan.hold, RequestCut) })
	p.group.Go(func() { ends <- p.pass(client, server, plan.answer, 0, AnswerCut) })
	end := <-ends
	if end == RequestCut && plan.half {
		p.halfClose(client, server, ends)
		return
	}
	p.note(end)
	if plan.abrupt && end != Whole {
		abort(client)
		abort(server)
	}
}

// halfClose says to the server that its client is done, as some proxies do, and waits for what
// it answers to that.
func (p *Proxy) halfClose(client, server *net.TCPConn, ends <-chan string) {
	p.note(HalfClosed)
	_ = server.CloseWrite()
	<-ends
	drain(client)
}

// pass copies what has a way to go, and answers cut if more was to come. A hold comes in the
// middle of it.
func (p *Proxy) pass(to, from *net.TCPConn, way int64, hold time.Duration, cut string) string {
	if hold > 0 {
		n, err := io.CopyN(to, from, way/2)
		if way -= n; err != nil {
			return Whole
		}
		p.note(Delayed)
		p.wait(hold)
	}
	if _, err := io.CopyN(to, from, way); err != nil {
		return Whole
	}
	if _, err := io.ReadFull(from, make([]byte, 1)); err != nil {
		return Whole
	}
	return cut
}

// badGateway answers once something was asked, as a proxy does whose server is away.
func (p *Proxy) badGateway(client *net.TCPConn) {
	p.note(BadGateway)
	if _, err := client.Read(make([]byte, 4096)); err != nil {
		return
	}
	_, _ = io.WriteString(client,
		"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nContent-Length: 11\r\nConnection: close\r\n\r\nno gateway\n")
	drain(client)
}

func drain(client *net.TCPConn) {
	_ = client.CloseWrite()
	_ = client.SetReadDeadline(time.Now().Add(time.Second)) // a client that goes on talking is cut off
	_, _ = io.Copy(io.Discard, client)                      // else what it still sends would reset the answer
}

func (p *Proxy) note(fate string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fates[fate]++
}

func (p *Proxy) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.context.Done():
	case <-timer.C:
	}
}

// abort makes the close that follows a reset.
func abort(conn *net.TCPConn) { _ = conn.SetLinger(0) }

// plan is what becomes of one connection.
type plan struct {
	fate            string // empty: it passes, for a while
	server          int
	request, answer int64 // bytes that pass in each direction before it is cut
	hold            time.Duration
	abrupt          bool // cut by a reset
	half            bool // a request is cut by a half close
}

// plan draws the plan of the n-th connection. Requests die anywhere within some batches of
// events; answers to them are short, so half of the cut ones die in their first bytes.
func (p *Proxy) plan(n uint64) plan {
	const long, short, longest = 12 << 10, 600, 64 << 10
	rng := rand.New(rand.NewPCG(p.cfg.Seed, n))
	drawn := plan{server: rng.IntN(1 << 16), request: longest, answer: longest, abrupt: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		drawn.request = rng.Int64N(long)
	} else {
		drawn.answer = rng.Int64N([]int64{short, long / 2}[rng.IntN(2)]) //nolint:mnd // halves
	}
	drawn.half = !drawn.abrupt && rng.IntN(2) == 0
	hold := time.Duration(rng.Int64N(int64(p.cfg.Hold)))
	switch roll := rng.IntN(100); {
	case roll < 4:
		drawn.fate = Refused
	case roll < 10:
		drawn.fate = BadGateway
	case roll < 13:
		drawn.fate, drawn.hold = Silent, hold
	case roll < 25:
		drawn.hold = hold
	}
	return drawn
}
