package model

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// agentHeader names a sub-agent in its requests.
const agentHeader = "X-Claude-Code-Agent-Id"

// Server plays turns to one agent, and others to its sub-agents.
type Server struct {
	URL string

	mu       sync.Mutex
	turns    []Turn
	below    []Turn // of sub-agents
	requests []Request
	wrong    []string
	messages int
	stopped  chan struct{}
}

// test is what an endpoint needs of testing.TB, so that a program can start one too.
type test interface {
	Helper()
	Cleanup(do func())
	Errorf(format string, args ...any)
	Failed() bool
}

// New starts an endpoint that ends with the test. When the test ends, all turns must have
// been played and every expectation must have held.
func New(tb test, turns ...Turn) *Server {
	tb.Helper()
	s, stop := Start(turns...)
	tb.Cleanup(func() {
		stop()
		s.check(tb)
	})
	return s
}

// Start starts an endpoint that runs until stop.
func Start(turns ...Turn) (s *Server, stop func()) {
	s = &Server{turns: turns, stopped: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = server.URL
	return s, func() {
		close(s.stopped)
		server.CloseClientConnections()
		server.Close()
	}
}

func (s *Server) check(tb test) {
	tb.Helper()
	for _, text := range s.wrong {
		tb.Errorf("the model endpoint: %s", text)
	}
	if left := len(s.turns) + len(s.below); left > 0 && !tb.Failed() {
		tb.Errorf("the model endpoint: %d turns were not asked for", left)
	}
}

// Add adds turns to those that are still to be played.
func (s *Server) Add(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Below adds turns for sub-agents.
func (s *Server) Below(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below = append(s.below, turns...)
}

// Requests are those that spent a turn, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch d := dialectOf(r); {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		_, _ = io.WriteString(w, `{"input_tokens":1000}`)
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		_, _ = io.WriteString(w, `{"totalTokens":1000}`)
	case d.read != nil:
		s.answer(w, r, d)
	case r.Method == http.MethodHead:
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect) {
	req, err := d.read(r)
	if err != nil {
		s.fault("a request cannot be read: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Header, req.Path, req.dialect = r.Header, r.URL.Path, d
	if len(req.Tools) == 0 { // a probe or a title, which is no part of the work
		s.play(w, r, req, Turn{Text: "ok"})
		return
	}
	turn, ok := s.next(req)
	if !ok {
		s.fault("more turns were asked for than there are; the last messages: %s", req.last())
		turn = Turn{Text: "There is nothing more to do."}
	}
	s.play(w, r, req, turn)
}

// next spends a turn and holds the request against what it expects.
func (s *Server) next(req Request) (Turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := &s.turns
	if req.Header.Get(agentHeader) != "" {
		queue = &s.below
	}
	s.requests = append(s.requests, req)
	if len(*queue) == 0 {
		return Turn{}, false
	}
	turn := (*queue)[0]
	*queue = (*queue)[1:]
	if turn.Expect != nil {
		if err := turn.Expect(req); err != nil {
			s.wrong = append(s.wrong, fmt.Sprintf("request %d: %v", len(s.requests), err))
		}
	}
	return turn, true
}

func (s *Server) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

func (s *Server) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	return fmt.Sprintf("msg_scripted_%04d", s.messages)
}

// play answers a request with a turn.
func (s *Server) play(w http.ResponseWriter, r *http.Request, req Request, t Turn) {
	if t.Begun != nil {
		close(t.Begun)
	}
	if t.Delay > 0 {
		s.await(r, time.After(t.Delay))
	}
	s.hold(r, t.Hold)
	maps.Copy(w.Header(), t.Header)
	if t.Now != nil {
		maps.Copy(w.Header(), t.Now())
	}
	switch {
	case t.Cut == CutBefore:
		panic(http.ErrAbortHandler)
	case t.Status != 0:
		refuse(w, t)
		return
	}
	m := t.message(s.id(), req)
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(req.dialect.whole(m)) //nolint:errchkjson // whoever left does not hear it
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := stream{w: w}
	req.dialect.stream(out, m, func() {
		s.hold(r, t.Middle)
		s.cut(w, out, t.Cut)
	})
}

// cut ends a stream in its middle.
func (s *Server) cut(w http.ResponseWriter, out stream, how Cut) {
	switch how {
	case CutEvent:
		out.event("error", map[string]any{"error": map[string]any{"type": "overloaded_error", "message": "Overloaded"}})
		panic(http.ErrAbortHandler)
	case CutReset:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
		panic(http.ErrAbortHandler)
	case CutNone, CutBefore:
	}
}

func (s *Server) hold(r *http.Request, until <-chan struct{}) {
	if until == nil {
		return
	}
	select {
	case <-until:
	case <-r.Context().Done():
	case <-s.stopped:
	}
}

func (s *Server) await(r *http.Request, timer <-chan time.Time) {
	select {
	case <-timer:
	case <-r.Context().Done():
	case <-s.stopped:
	}
}

// refuse answers an error as the API does.
func refuse(w http.ResponseWriter, t Turn) {
	kinds := map[int]string{
		http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error",
		http.StatusForbidden: "permission_error", http.StatusTooManyRequests: "rate_limit_error", 529: "overloaded_error",
	}
	kind := kinds[t.Status]
	if kind == "" {
		kind = "api_error"
	}
	text := t.Error
	if text == "" {
		text = "a fault of the script"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(t.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{ //nolint:errchkjson // whoever left does not hear it
		"type": "error", "error": map[string]any{"type": kind, "message": text, "code": t.Status},
	})
}
