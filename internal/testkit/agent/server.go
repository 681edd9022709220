// Package agent has a test double of the API that keeps what senders number exactly as the
// real one promises to, and can be told to misbehave. It is for tests.
package agent

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

// Event is a stored event.
type Event struct {
	N      int64          `json:"-"` // its number in its spool
	Spool  string         `json:"-"` // the spool that it came from
	Type   string         `json:"event_type"`
	Source string         `json:"source"`
	Data   map[string]any `json:"event_data"`

	Raw json.RawMessage `json:"-"` // the data as it came
}

// UnmarshalJSON keeps the data as it came, too.
func (e *Event) UnmarshalJSON(body []byte) error {
	type plain Event
	var raw struct {
		Data json.RawMessage `json:"event_data"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return err
	}
	err := json.Unmarshal(body, (*plain)(e))
	e.Raw = raw.Data
	return err
}

// Message is a message for the agent.
type Message struct {
	ID        string `json:"id"`
	Content   string `json:"content"`
	Type      string `json:"message_type"`
	Timestamp string `json:"timestamp"`

	SenderKind string `json:"sender_kind,omitempty"`
	SenderID   string `json:"sender_id,omitempty"`
	Allows     string `json:"allows,omitempty"`
}

// Fault says what to do with the n-th batch, from 1.
type Fault struct {
	Status    int  // answer this before storing anything; zero: none
	Foreign   bool // the status is not of the API, but of something on the way to it
	CutBefore bool // drop the connection before storing
	CutAfter  bool // store, then drop the connection
	Keep      int  // store only that many events of the batch; zero: all
}

// Server is the test double.
type Server struct {
	*httptest.Server

	// FaultOf decides about each batch. It must be set before the first request.
	FaultOf func(n int) Fault
	// TranscriptFaultOf decides about each piece of a transcript and each reading of one.
	TranscriptFaultOf func(n int) Fault
	// CheckpointFaultOf decides about each request for checkpoints.
	CheckpointFaultOf func(n int) Fault
	// Refuse answers 422 for a batch that holds such an event.
	Refuse func(Event) bool
	// Block answers 413 for one, as something on the way to the API would.
	Block func(Event) bool

	mu       sync.Mutex
	batches  int
	events   []Event
	marks    map[string]int64
	messages []Message
	acks     []string
	verdicts []client.Verdict
	tokens   map[string]int
	zipped   int
	reads    int // requests for transcripts
	changed  chan struct{}

	transcripts map[string]*Transcript // by run
	points      points
}

// New starts a server that ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{
		marks: map[string]int64{}, tokens: map[string]int{}, changed: make(chan struct{}),
		transcripts: map[string]*Transcript{},
		points:      points{packs: map[int][]byte{}, sealed: map[int]checkpoint.Checkpoint{}},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(s.Close)
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]++
	s.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/events/batch"):
		s.batch(w, r)
	case strings.HasSuffix(r.URL.Path, "/events") && r.Method == http.MethodPost:
		s.single(w, r)
	case strings.HasSuffix(r.URL.Path, "/counts"):
		s.count(w)
	case strings.HasSuffix(r.URL.Path, "/ack"):
		parts := strings.Split(r.URL.Path, "/")
		s.mu.Lock()
		s.acks = append(s.acks, parts[len(parts)-2])
		s.touch()
		s.mu.Unlock()
		answer(w, http.StatusOK, map[string]any{})
	case strings.Contains(r.URL.Path, "/checkpoints/"):
		s.checkpoint(w, r)
	case strings.Contains(r.URL.Path, "/transcripts/"):
		s.transcript(w, r)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		s.give(w, r)
	case strings.HasSuffix(r.URL.Path, "/validation-result"):
		s.judge(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]any{"detail": err.Error()})
			return
		}
		body = z
	}
	var in struct {
		SpoolID string  `json:"spool_id"`
		First   int64   `json:"first"`
		Events  []Event `json:"events"`
	}
	if err := json.NewDecoder(body).Decode(&in); err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"detail": err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches++
	fault := Fault{}
	if s.FaultOf != nil {
		fault = s.FaultOf(s.batches)
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		s.zipped++
	}
	switch {
	case fault.CutBefore:
		panic(http.ErrAbortHandler)
	case s.Block != nil && slices.ContainsFunc(in.Events, s.Block):
		http.Error(w, "<html>no", http.StatusRequestEntityTooLarge)
		return
	case fault.Foreign:
		http.Error(w, "<html>no", fault.Status)
		return
	case fault.Status != 0:
		answer(w, fault.Status, map[string]any{"detail": "a fault"})
		return
	}
	s.store(w, in.SpoolID, in.First, in.Events, fault)
}

func (s *Server) store(w http.ResponseWriter, spool string, first int64, events []Event, fault Fault) {
	mark := s.marks[spool]
	if first > mark+1 {
		answer(w, http.StatusConflict, map[string]any{"acknowledged": mark})
		return
	}
	if fault.Keep > 0 && fault.Keep < len(events) {
		events = events[:fault.Keep]
	}
	for _, e := range events {
		if s.Refuse != nil && s.Refuse(e) {
			answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": "refused"})
			return
		}
	}
	duplicates := 0
	for i, e := range events {
		e.N, e.Spool = first+int64(i), spool
		if e.N <= mark {
			duplicates++
			continue
		}
		mark = e.N
		s.events = append(s.events, e)
	}
	s.marks[spool] = mark
	s.touch()
	if fault.CutAfter {
		panic(http.ErrAbortHandler)
	}
	answer(w, http.StatusOK, map[string]any{"acknowledged": mark, "duplicates": duplicates})
}

func (s *Server) single(w http.ResponseWriter, r *http.Request) {
	var e Event
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	s.touch()
	answer(w, http.StatusOK,
		map[string]any{"status": "received", "event_type": e.Type, "event_id": strconv.Itoa(len(s.events))})
}

func (s *Server) count(w http.ResponseWriter) {
	types := map[string]int{}
	for _, e := range s.Events() {
		types[e.Type]++
	}
	answer(w, http.StatusOK, map[string]any{"types": types})
}

// give hands out messages again and again until they are acknowledged, as expired leases do.
func (s *Server) give(w http.ResponseWriter, r *http.Request) {
	for {
		s.mu.Lock()
		changed := s.changed
		var list []Message
		for _, m := range s.messages {
			acked := false
			for _, id := range s.acks {
				acked = acked || id == m.ID
			}
			if only := r.URL.Query().Get("only"); !acked && (only == "" || only == m.Type) {
				list = append(list, m)
			}
		}
		s.mu.Unlock()
		if len(list) > 0 {
			answer(w, http.StatusOK, list)
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// answer writes a problem document as omoi does, where body is a map of a refusal.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	if said, ok := body.(map[string]any); ok && status >= http.StatusBadRequest {
		w.Header().Set("Content-Type", "application/problem+json")
		said["code"] = client.CodeOf(status)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // what is written here is plain
}

func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Say puts messages into the agent's queue.
func (s *Server) Say(messages ...Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, messages...)
	s.touch()
}

// Events returns what is stored, in order of arrival.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// Types returns the types of the stored events without heartbeats.
func (s *Server) Types() []string {
	var types []string
	for _, e := range s.Events() {
		if e.Type != "agent.heartbeat" {
			types = append(types, e.Type)
		}
	}
	return types
}

// Of returns the stored events of one type.
func (s *Server) Of(eventType string) []Event {
	var out []Event
	for _, e := range s.Events() {
		if e.Type == eventType {
			out = append(out, e)
		}
	}
	return out
}

// Acks returns the ids of explicitly acknowledged messages, in order.
func (s *Server) Acks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.acks...)
}

// Forget takes a spool's mark back to n and drops what came after, as a restored database would.
func (s *Server) Forget(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.events[:0:0]
	for _, e := range s.events {
		if e.N <= n {
			kept = append(kept, e)
		}
	}
	s.events = kept
	for spool, mark := range s.marks {
		s.marks[spool] = min(mark, n)
	}
}

// Zipped returns how many batches came compressed.
func (s *Server) Zipped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zipped
}

// Token returns how many requests carried the token.
func (s *Server) Token(token string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[token]
}

// patience bounds a hang; no test depends on speed.
const patience = 90 * time.Second

// Wait waits until enough is true, looking at each change; it fails the test when its
// context ends first, or nothing comes at all.
func (s *Server) Wait(tb testing.TB, enough func([]Event) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if enough(s.Events()) {
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("the expected events did not come; there are %q", s.Types())
		case <-changed:
		}
	}
}

// Has is true once n events of the type are stored.
func Has(eventType string, n int) func([]Event) bool {
	return func(events []Event) bool {
		found := 0
		for _, e := range events {
			if e.Type == eventType {
				found++
			}
		}
		return found >= n
	}
}
