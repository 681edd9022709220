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

// patience is the timeout of one request, longer than a long poll.
const patience = 90 * time.Second

// Files are the files of a sandbox, accessed by a [Forwarder] through the provider.
type Files interface {
	ReadFile(ctx context.Context, name string) (io.ReadCloser, error)
	// WriteFile replaces a file atomically.
	WriteFile(ctx context.Context, name string, r io.Reader) error
}

// Route connects a sandbox and the API.
type Route struct {
	Files Files
	Dir   string // agent's folder
	API   http.RoundTripper
	Own   string // path of the sandbox's own routes, for example /api/v1/sandboxes/x
	Token string // replaces the token of every request
	Log   *slog.Logger
}

// Forwarder forwards the requests of one sandbox to the API and returns the responses. The outbox is not trusted: its
// requests reach the sandbox's own routes only.
type Forwarder struct {
	route Route
	news  chan struct{}

	mu      sync.Mutex
	pending map[string]*pendingRequest
	group   sync.WaitGroup
}

// pendingRequest is a request in the outbox.
type pendingRequest struct {
	busy   bool
	cancel context.CancelFunc // cancels the running attempt
	answer []byte             // response; nil: the API has not answered
	done   bool               // the response is in the sandbox
}

// NewForwarder returns a forwarder of a route.
func NewForwarder(route Route) *Forwarder {
	return &Forwarder{route: route, news: make(chan struct{}, 1), pending: map[string]*pendingRequest{}}
}

// News signals that a response was delivered, after which the agent often sends the next request.
func (f *Forwarder) News() <-chan struct{} { return f.news }

// Wait waits until no request is in progress. The ctx of Round must have ended.
func (f *Forwarder) Wait() { f.group.Wait() }

// Round reads the outbox and starts to forward its new requests. waiting is the number of requests in it. An error
// means that the outbox cannot be read.
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

// take starts the new requests, and cancels those that are no longer in the outbox.
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

// carry forwards one request and writes its response into the sandbox. A later round repeats a failed step; a response
// that the API has given is not requested again.
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
			f.warn(ctx, fmt.Errorf("forward a request: %w", err))
			return
		}
		b.answer = answer
	}
	if err := f.route.Files.WriteFile(ctx, Answer(f.route.Dir, ask.ID), bytes.NewReader(b.answer)); err != nil {
		f.warn(ctx, fmt.Errorf("write a response into the sandbox: %w", err))
		return
	}
	b.answer, done = nil, true
}

// warn logs an error, unless ctx has ended.
func (f *Forwarder) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.route.Log.WarnContext(ctx, "forward request failed", slog.String("route", f.route.Own), slog.Any("error", err))
	}
}

// ask sends one request to the API and returns the encoded response. An error means that the API did not answer.
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
	case ctx.Err() != nil && life.Err() == nil:
		return written(http.StatusBadGateway, nil, []byte("The response takes too long for the pull transport."))
	case len(body) == MaxAnswer: // each time
		return written(http.StatusRequestEntityTooLarge, nil, []byte("The response is too long for the pull transport."))
	case err != nil:
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	return written(resp.StatusCode, resp.Header, body)
}

// request converts a request of the outbox to one to the sandbox's own routes, with the sandbox's token.
func (f *Forwarder) request(ctx context.Context, text []byte) (*http.Request, error) {
	in, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		return nil, errors.New("not an HTTP request")
	}
	own := f.route.Own + "/"
	if !strings.HasPrefix(in.URL.Path, own) || !strings.HasPrefix(in.URL.EscapedPath(), own) || path.Clean(in.URL.Path) != in.URL.Path {
		return nil, errors.New("a sandbox may call its own routes only")
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
		return nil, errors.New("not an HTTP request")
	}
	for _, name := range []string{"Accept", "Content-Type", "Content-Encoding", "Idempotency-Key", "Omoi-Protocol"} {
		if value := in.Header.Get(name); value != "" {
			out.Header.Set(name, value)
		}
	}
	out.Header.Set("Authorization", "Bearer "+f.route.Token)
	return out, nil
}

// written returns a response in HTTP/1.1 format.
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
