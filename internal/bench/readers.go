package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// readers are open streams of server-sent events. The client is a few lines over TCP, so that
// the memory and the time of ten thousand of them do not burden the machine more than need be.
type readers struct {
	host  string
	conns []net.Conn
	all   sync.WaitGroup
	done  atomic.Bool // closing is no fault now

	events  atomic.Int64 // that came
	broken  atomic.Int64 // streams that ended by themselves
	keeping atomic.Bool
	mu      sync.Mutex
	took    []float64 // of events while keeping
}

// stamp is how an event says when it was due.
const stamp = `"sent":`

func newReaders(base string) (*readers, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("read the server's address: %w", err)
	}
	return &readers{host: u.Host}, nil
}

// open opens streams until there are n, each of the next sandbox, from its newest event on.
func (r *readers) open(ctx context.Context, p *eventSender, n int) error {
	heads, err := p.heads(ctx)
	if err != nil {
		return err
	}
	const parallel = 32
	var mu sync.Mutex
	next := len(r.conns)
	_, err = rate(ctx, n-next, parallel, func(ctx context.Context) error {
		mu.Lock()
		box := next % boxCount
		next++
		mu.Unlock()
		conn, lines, err := r.dial(ctx, p.streamRequest(box, heads[p.boxes[box]]))
		if err != nil {
			return err
		}
		mu.Lock()
		r.conns = append(r.conns, conn)
		mu.Unlock()
		r.all.Go(func() { r.read(lines) })
		return nil
	})
	return err
}

func (p *eventSender) streamRequest(box int, after int64) []byte {
	return []byte("GET /api/v1/sandboxes/" + p.boxes[box] + "/stream?after=" + strconv.FormatInt(after, 10) +
		" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + p.tokens[box] + "\r\n\r\n")
}

// heads are the newest events of the sandboxes.
func (p *eventSender) heads(ctx context.Context) (map[string]int64, error) {
	rows, err := p.pool.Query(ctx, `SELECT id, last_sequence FROM sandboxes WHERE id = ANY($1)`, p.boxes)
	if err != nil {
		return nil, fmt.Errorf("find the newest events: %w", err)
	}
	defer rows.Close()
	heads := map[string]int64{}
	for rows.Next() {
		var id string
		var head int64
		if err := rows.Scan(&id, &head); err != nil {
			return nil, fmt.Errorf("find the newest events: %w", err)
		}
		heads[id] = head
	}
	return heads, rows.Err()
}

// dial opens one stream and waits for its first line.
func (r *readers) dial(ctx context.Context, request []byte) (net.Conn, *bufio.Reader, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.host)
	if err != nil {
		return nil, nil, fmt.Errorf("open a stream: %w", err)
	}
	lines := bufio.NewReaderSize(conn, 2048) //nolint:mnd // an event is shorter
	if _, err := conn.Write(request); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a stream: %w", err), conn.Close())
	}
	for first := true; ; first = false {
		line, err := lines.ReadSlice('\n')
		if err == nil && first && !bytes.Contains(line, []byte(" 200 ")) {
			err = fmt.Errorf("the server answers %s", bytes.TrimSpace(line))
		}
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("open a stream: %w", err), conn.Close())
		}
		if bytes.HasPrefix(line, []byte(":")) {
			return conn, lines, nil
		}
	}
}

// read counts the events that come, and how long each was under way.
func (r *readers) read(lines *bufio.Reader) {
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if !r.done.Load() {
				r.broken.Add(1)
			}
			return
		}
		if bytes.HasPrefix(line, []byte("data:")) {
			r.events.Add(1)
			r.clock(line)
		}
	}
}

func (r *readers) clock(line []byte) {
	if !r.keeping.Load() {
		return
	}
	_, rest, found := bytes.Cut(line, []byte(stamp))
	if !found {
		return
	}
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	nanoseconds, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return
	}
	took := milliseconds(time.Duration(time.Now().UnixNano() - nanoseconds))
	r.mu.Lock()
	r.took = append(r.took, took)
	r.mu.Unlock()
}

// keep notes latencies from now on; kept answers them, smallest first, and stops.
func (r *readers) keep() { r.keeping.Store(true) }

func (r *readers) kept() []float64 {
	r.keeping.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	took := slices.Sorted(slices.Values(r.took))
	r.took = nil
	return took
}

// whole is an error if a stream ended.
func (r *readers) whole() error {
	if n := r.broken.Load(); n > 0 {
		return fmt.Errorf("%d of %d streams ended: %w", n, len(r.conns), io.ErrUnexpectedEOF)
	}
	return nil
}

func (r *readers) close() error {
	r.done.Store(true)
	var errs []error
	for _, conn := range r.conns {
		errs = append(errs, conn.Close())
	}
	r.all.Wait()
	return errors.Join(errs...)
}
