package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// connections is how many clients there are, here and in pgbench.
const connections = 32

// caller makes the next request of one connection, whole. It is valid until the next.
type caller func() []byte

// flood posts over HTTP for a while, each connection as fast as it is answered, and returns
// how many requests a second were stored. The client is a few lines over TCP, so that it
// takes as little as can be of the processors that it shares with the server.
func flood(ctx context.Context, base string, spell time.Duration, callers func(n int) caller) (float64, error) {
	u, err := url.Parse(base)
	if err != nil {
		return 0, fmt.Errorf("read the server's address: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one thread has the time for 32 connections
	var done atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	end := begun.Add(spell)
	for n := range connections {
		next := callers(n)
		all.Go(func() {
			served, err := converse(ctx, u.Host, end, next)
			done.Add(served)
			if err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return float64(done.Load()) / time.Since(begun).Seconds(), nil
}

func converse(ctx context.Context, host string, end time.Time, next caller) (served int64, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return 0, fmt.Errorf("connect to the API: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	if err := conn.SetDeadline(end.Add(time.Minute)); err != nil {
		return 0, fmt.Errorf("bound a connection: %w", err)
	}
	answers := bufio.NewReader(conn)
	for time.Now().Before(end) && ctx.Err() == nil {
		if _, err := conn.Write(next()); err != nil {
			return served, fmt.Errorf("post: %w", err)
		}
		if err := readAnswer(answers); err != nil {
			return served, err
		}
		served++
	}
	return served, nil
}

// readAnswer reads one answer and refuses any that is no success.
func readAnswer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	if len(line) < 10 || line[9] != '2' {
		rest, _ := r.Peek(r.Buffered())
		return fmt.Errorf("the server answers %s%s", line, rest)
	}
	length := 0
	for len(bytes.TrimSpace(line)) > 0 {
		if line, err = r.ReadSlice('\n'); err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return fmt.Errorf("read an answer: %w", err)
			}
		}
	}
	if _, err := r.Discard(length); err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	return nil
}

// post writes a request.
func post(path, token string, body []byte) []byte {
	return append(postHead(nil, path, token, len(body)), body...)
}

// postHead writes what stands before the body of a request.
func postHead(into []byte, path, token string, length int) []byte {
	into = append(append(into, http.MethodPost+" "...), path...)
	into = append(into, " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "...)
	into = strconv.AppendInt(into, int64(length), 10)
	if token != "" {
		into = append(append(into, "\r\nAuthorization: Bearer "...), token...)
	}
	return append(into, "\r\n\r\n"...)
}
