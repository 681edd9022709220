package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pace posts at a fixed rate however slowly it is answered. Each request has the time at which
// it was due, and its latency counts from there: a server that stalls pays for all who wait.
type pace struct {
	rate  float64 // requests a second
	lasts time.Duration
	next  func(n int) func(due time.Time) []byte // for each connection
}

// run answers the latencies of all requests in milliseconds, smallest first.
func (p pace) run(ctx context.Context, base string) ([]float64, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("read the server's address: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	var sent atomic.Int64
	took := make([][]float64, connections)
	begin := time.Now()
	for n := range connections {
		next := p.next(n)
		all.Go(func() {
			var err error
			if took[n], err = p.converse(ctx, u.Host, func() (time.Time, bool) { return p.due(begin, sent.Add(1)-1) }, next); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return slices.Sorted(slices.Values(slices.Concat(took...))), context.Cause(ctx)
}

// due is when the n-th request is to be sent; false after the last.
func (p pace) due(begin time.Time, n int64) (time.Time, bool) {
	after := time.Duration(float64(n) / p.rate * float64(time.Second))
	return begin.Add(after), after < p.lasts
}

// converse sends what is due on one connection: whichever is free takes the next.
func (p pace) converse(
	ctx context.Context, host string, due func() (time.Time, bool), next func(time.Time) []byte,
) (took []float64, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, fmt.Errorf("connect to the API: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	end := time.Now().Add(p.lasts + 2*time.Second)
	if err := conn.SetDeadline(end.Add(time.Minute)); err != nil {
		return nil, fmt.Errorf("bound a connection: %w", err)
	}
	answers := bufio.NewReader(conn)
	for at, more := due(); more && ctx.Err() == nil; at, more = due() {
		if !sleepUntil(ctx, at) {
			break
		}
		if time.Now().After(end) { // what could not be sent in time is as late as it would be now
			took = append(took, milliseconds(time.Since(at)))
			continue
		}
		if _, err := conn.Write(next(at)); err != nil {
			return took, fmt.Errorf("post: %w", err)
		}
		if err := readAnswer(answers); err != nil {
			return took, err
		}
		took = append(took, milliseconds(time.Since(at)))
	}
	return took, nil
}

// sleepUntil reports whether the time came before ctx ended.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// quantile is the value below which that share of sorted values lies; zero of nothing.
func quantile(sorted []float64, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}
