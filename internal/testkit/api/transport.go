package api

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// enough answers of one route and status are judged whole; tests that ask thousands of times
// learn nothing from the rest.
const enough = 200

// Transport judges the answers of omoi servers that pass through it. Answers of anything
// else (a proxy, another program) pass unseen.
type Transport struct {
	doc  *Document
	next http.RoundTripper

	mu      sync.Mutex
	seen    map[string]int
	judged  map[[sha256.Size]byte]bool
	ignored map[string]bool // hosts of servers of older builds, as host:port
	faults  []error
}

// NewTransport makes a transport that asks next.
func NewTransport(doc *Document, next http.RoundTripper) *Transport {
	return &Transport{doc: doc, next: next, seen: map[string]int{}, judged: map[[sha256.Size]byte]bool{}, ignored: map[string]bool{}}
}

// Faults are the answers that were not what the document says.
func (t *Transport) Faults() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.faults...)
}

// Ignore passes answers of a host unseen, or judges them again: a server of an older build answers by its own document.
func (t *Transport) Ignore(host string, ignored bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ignored[host] = ignored
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil || res.Header.Get("X-Request-ID") == "" || res.StatusCode == http.StatusSwitchingProtocols || !t.wanted(res) {
		return res, err
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), eventStream) {
		t.note(t.doc.Answer(res, nil))
		res.Body = &streamBody{ReadCloser: res.Body, transport: t}
		return res, nil
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it is read to its end, or broken
	res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{err}))
	if err == nil && t.first(res, body) {
		t.note(t.doc.Answer(res, body))
	}
	return res, nil
}

// first reports whether an answer was not judged before: tests that wait get the same answer again and again.
func (t *Transport) first(res *http.Response, body []byte) bool {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, res.Request.Method, res.Request.URL.Path, res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Retry-After"))
	_, _ = sum.Write(body)
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [sha256.Size]byte(sum.Sum(nil))
	again := t.judged[key]
	t.judged[key] = true
	return !again
}

func (t *Transport) wanted(res *http.Response) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ignored[res.Request.URL.Host] {
		return false
	}
	in, err := t.doc.request(res.Request)
	if err != nil {
		return true
	}
	key := in.Route.Method + in.Route.Path + strconv.Itoa(res.StatusCode)
	t.seen[key]++
	return t.seen[key] <= enough
}

func (t *Transport) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.faults = append(t.faults, err)
	}
}

// broken is the end of a body whose reading failed; without an error it is a good end.
type broken struct{ err error }

// Read implements [io.Reader].
func (b broken) Read([]byte) (int, error) {
	if b.err == nil {
		return 0, io.EOF
	}
	return 0, b.err
}

// streamBody judges a stream while it is read.
type streamBody struct {
	io.ReadCloser
	transport *Transport
	rest      []byte
	judged    int
}

// Read implements [io.Reader].
func (s *streamBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.judged < enough {
		s.rest = append(s.rest, p[:n]...)
		s.judge()
	}
	return n, err
}

// judge checks the frames that are complete.
func (s *streamBody) judge() {
	end := bytes.LastIndex(s.rest, []byte("\n\n"))
	if end < 0 {
		return
	}
	s.transport.note(s.transport.doc.frames(s.rest[:end]))
	s.judged += 1 + bytes.Count(s.rest[:end], []byte("\n\n"))
	s.rest = s.rest[end+2:]
}
