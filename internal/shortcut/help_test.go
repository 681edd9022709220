package shortcut_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/shortcut"
)

const maxBody = 1 << 10

// server is net/http on a port of its own, with a front or without.
type server struct {
	http  *http.Server
	front *shortcut.Front
	addr  string
	idle  sync.Map // by the caller's address, a channel: net/http waits for its next request
}

func serve(tb testing.TB, handler http.Handler, withFront bool, change ...func(*server)) *server {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	s := &server{addr: l.Addr().String(), http: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute}}
	if withFront {
		s.front = &shortcut.Front{Handler: handler, Takes: isHot, MaxBody: maxBody, Timeout: time.Minute}
		s.http.ConnState = func(c net.Conn, state http.ConnState) {
			s.front.State(c, state)
			if state == http.StateIdle {
				s.idles(c.RemoteAddr()) <- struct{}{}
			}
		}
		l = s.front.Listener(context.Background(), l)
	}
	for _, c := range change {
		c(s)
	}
	done := make(chan error, 1)
	go func() { done <- s.http.Serve(l) }()
	tb.Cleanup(func() {
		_ = s.http.Close()
		require.ErrorIs(tb, <-done, http.ErrServerClosed)
	})
	return s
}

func (s *server) idles(caller net.Addr) chan struct{} {
	ch, _ := s.idle.LoadOrStore(caller.String(), make(chan struct{}, 100))
	return ch.(chan struct{})
}

func isHot(method, path string) bool {
	return method == http.MethodPost && strings.HasPrefix(path, "/hot")
}

// byFront reports whether the front answers a request: its writer can do less than net/http's.
func byFront(w http.ResponseWriter) bool {
	_, flushes := w.(http.Flusher)
	return !flushes
}

// echo tells what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.Header().Set("X-Front", strconv.FormatBool(byFront(w)))
	w.Header().Set("X-Two", "lines\r\nX-Three: forged")
	if strings.HasSuffix(r.URL.Path, "/teapot") {
		w.WriteHeader(http.StatusTeapot)
	}
	_, _ = fmt.Fprintf(w, "%s %s %s %s %v %d %q %v\n", r.Method, r.RequestURI, r.URL, r.Host, r.Proto, r.ContentLength, body, err)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		_, _ = fmt.Fprintf(w, "%s=%q\n", name, r.Header[name])
	}
}

// line is one connection to a server.
type line struct {
	tb testing.TB
	net.Conn

	answers *bufio.Reader
	idle    <-chan struct{}
}

func dial(tb testing.TB, s *server) *line {
	tb.Helper()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", s.addr)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	require.NoError(tb, conn.SetDeadline(time.Now().Add(time.Minute)))
	return &line{tb, conn, bufio.NewReader(conn), s.idles(conn.LocalAddr())}
}

// greeted is a connection whose first request net/http has answered.
func greeted(tb testing.TB, s *server) *line {
	tb.Helper()
	l := dial(tb, s)
	l.say("GET /first HTTP/1.1\r\nHost: here\r\n\r\n")
	require.Contains(tb, l.hear().text, "GET /first")
	return l
}

func (l *line) say(text string) {
	l.tb.Helper()
	_, err := io.WriteString(l, text)
	require.NoError(l.tb, err)
}

type answer struct {
	status int
	front  string
	close  bool
	text   string
}

// hear waits for an answer, and for net/http where that has made it: until it waits for the next
// request it may get the first byte of that with the one before.
func (l *line) hear() answer {
	l.tb.Helper()
	heard := l.next()
	if heard.front == "false" && !heard.close {
		<-l.idle
	}
	return heard
}

func (l *line) next() answer {
	l.tb.Helper()
	resp, err := http.ReadResponse(l.answers, nil)
	require.NoError(l.tb, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(l.tb, err)
	require.Empty(l.tb, resp.Header.Get("X-Three"))
	if resp.StatusCode == http.StatusOK { // net/http's own faults have none
		require.NotEmpty(l.tb, resp.Header.Get("Date"))
	}
	return answer{resp.StatusCode, resp.Header.Get("X-Front"), resp.Close, string(body)}
}

// hot is a request that the front takes.
func hot(body string) string {
	return fmt.Sprintf("POST /hot HTTP/1.1\r\nHost: here\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// all is what a server answers to a text and then to the end of what is sent, on a connection
// that it has served before.
func all(tb testing.TB, s *server, first, second []byte) []answer {
	tb.Helper()
	l := dial(tb, s)
	l.say("GET /first HTTP/1.1\r\nHost: here\r\n\r\n")
	require.Contains(tb, l.next().text, "GET /first")
	_, _ = l.Write(first) // a server may have closed the connection by then
	_, _ = l.Write(second)
	_ = l.Conn.(*net.TCPConn).CloseWrite()
	said, _ := io.ReadAll(l.answers) // it may end by a reset
	var heard []answer
	for rest := bufio.NewReader(bytes.NewReader(said)); ; {
		resp, err := http.ReadResponse(rest, nil)
		if err != nil || resp.StatusCode == http.StatusBadRequest {
			return heard // net/http says so, or nothing, of what breaks off in its first bytes
		}
		body, err := io.ReadAll(resp.Body)
		require.NoError(tb, err)
		_ = resp.Body.Close()
		heard = append(heard, answer{status: resp.StatusCode, text: string(body)})
	}
}
