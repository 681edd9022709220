package mailbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

// patience is how long one request may take: a long poll and then some.
const patience = 90 * time.Second

// Files are the files of a sandbox, accessed by a [Forwarder] through the provider.
type Files interface {
	ReadFile(ctx context.Context, name string) (io.ReadCloser, error)
	// WriteFile replaces a file as a whole.
	WriteFile(ctx context.Context, name string, r io.Reader) error
}

// Route names the two ends of a [Forwarder].
type Route struct {
	Files Files
	Dir   string // the agent's folder
	API   http.RoundTripper
	Own   string // the part of the API that is the sandbox's own, as /api/v1/sandboxes/x
	Token string // with which every request goes, whatever it came with
	Log   *slog.Logger
}

// Forwarder forwards the requests of one sandbox to the API and returns the responses. The content of the outbox is not
// trusted: it reaches the sandbox's own routes only.
type Forwarder struct {
	route Route
	news  chan struct{}

	mu      sync.Mutex
	pending map[string]*pendingRequest
	group   sync.WaitGroup
}

// pendingRequest is a request on its way.
type pendingRequest struct {
	busy   bool
	cancel context.CancelFunc // of what is under way
	answer []byte             // nil: the API has not answered
	done   bool               // the answer is in the sandbox
}

// NewForwarder makes one that has carried nothing yet.
func NewForwarder(route Route) *Forwarder {
	return &Forwarder{route: route, news: make(chan struct{}, 1), pending: map[string]*pendingRequest{}}
}

// News is ready after an answer was carried: the agent will most likely ask for more.
func (f *Forwarder) News() <-chan struct{} { return f.news }

// Wait waits until nothing is on its way; ctx of the rounds has ended before.
func (f *Forwarder) Wait() { f.group.Wait() }

// Round reads the outbox and begins to carry what is new in it. waiting is how many requests
// it holds; an error is the provider's, or says that the outbox cannot be read.
func (f *Forwarder) Round(ctx context.Context) (waiting int, err error) {
	file, err := f.route.Files.ReadFile(ctx, Outbox(f.route.Dir))
	if err != nil {
		return 0, fmt.Errorf("read the agent's outbox: %w", err)
	}
	asks, err := Read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, fmt.Errorf("read the agent's outbox: %w", err)
	}
	f.take(ctx, asks)
	return len(asks), nil
}

// take sets off with what nobody carries, and drops what the agent waits for no more.
func (f *Forwarder) take(ctx context.Context, asks []Ask) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.pending
	f.pending = make(map[string]*pendingRequest, len(asks))
	for _, ask := range asks {
		b := before[ask.ID]
		if b == nil {
			b = &pendingRequest{}
		}
		f.pending[ask.ID] = b
		delete(before, ask.ID)
		if b.busy || b.done {
			continue
		}
		within, cancel := context.WithCancel(ctx)
		b.busy, b.cancel = true, cancel
		f.group.Go(func() {
			defer cancel()
			f.carry(within, ask, b)
		})
	}
	for _, b := range before {
		if b.busy {
			b.cancel()
		}
	}
}

// carry takes one request to the API and its answer back. What fails is tried again by a later
// round; what the API has answered already is not asked again.
func (f *Forwarder) carry(ctx context.Context, ask Ask, b *pendingRequest) {
	done := false
	defer func() {
		f.mu.Lock()
		b.busy, b.done = false, done
		f.mu.Unlock()
		wait.Notify(f.news)
	}()
	if b.answer == nil {
		answer, err := f.ask(ctx, ask)
		if err != nil {
			f.warn(ctx, fmt.Errorf("carry a request: %w", err))
			return
		}
		b.answer = answer
	}
	if err := f.route.Files.WriteFile(ctx, Answer(f.route.Dir, ask.ID), bytes.NewReader(b.answer)); err != nil {
		f.warn(ctx, fmt.Errorf("put an answer in: %w", err))
		return
	}
	b.answer, done = nil, true
}

// warn says nothing of what nobody waits for any more.
func (f *Forwarder) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.route.Log.WarnContext(ctx, "forward request failed", slog.String("route", f.route.Own), slog.Any("error", err))
	}
}

// ask puts one request to the API. An error means that there was no answer of the API's.
func (f *Forwarder) ask(life context.Context, ask Ask) ([]byte, error) {
	ctx, cancel := context.WithTimeout(life, patience)
	defer cancel()
	req, err := f.request(ctx, ask.Request)
	if err != nil {
		return written(http.StatusNotFound, nil, []byte(err.Error()))
	}
	resp, err := f.route.API.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("call the API: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer))
	_ = resp.Body.Close()
	switch {
	case ctx.Err() != nil && life.Err() == nil, len(body) == MaxAnswer:
		return written(http.StatusBadGateway, nil, []byte("The answer is too long for a sandbox that is reached by files."))
	case err != nil:
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	return written(resp.StatusCode, resp.Header, body)
}

// request makes of what a sandbox wrote a request to its own routes, with its own token.
func (f *Forwarder) request(ctx context.Context, text []byte) (*http.Request, error) {
	in, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		return nil, errors.New("this is no request")
	}
	own := f.route.Own + "/"
	if !strings.HasPrefix(in.URL.Path, own) || !strings.HasPrefix(in.URL.EscapedPath(), own) || path.Clean(in.URL.Path) != in.URL.Path {
		return nil, errors.New("a sandbox opens its own routes only")
	}
	if strings.HasSuffix(in.URL.Path, "/stream") {
		return nil, errors.New("streams are not supported by the pull transport")
	}
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, errors.New("the request's body is incomplete")
	}
	out, err := http.NewRequestWithContext(ctx, in.Method, "http://omoi"+in.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("this is no request")
	}
	for _, name := range []string{"Accept", "Content-Type", "Content-Encoding", "Idempotency-Key", "Omoi-Protocol"} {
		if value := in.Header.Get(name); value != "" {
			out.Header.Set(name, value)
		}
	}
	out.Header.Set("Authorization", "Bearer "+f.route.Token)
	return out, nil
}

// written is an answer as the agent reads it.
func written(status int, header http.Header, body []byte) ([]byte, error) {
	resp := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if value := header.Get(name); value != "" {
			resp.Header.Set(name, value)
		}
	}
	var wire bytes.Buffer
	err := resp.Write(&wire)
	return wire.Bytes(), err
}
