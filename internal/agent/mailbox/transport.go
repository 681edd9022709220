package mailbox

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/ingest/transcriptcut"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// look is the interval of checks for a response.
const look = 20 * time.Millisecond

// Transport is the agent's side: it puts requests into the outbox and waits for their responses. Transport is safe for
// concurrent use. Only the process that holds the spool may use the mailbox.
type Transport struct {
	dir  string
	room chan struct{} // has an entry for each request in the outbox

	mu   sync.Mutex
	asks []Ask
}

var _ http.RoundTripper = (*Transport)(nil)

// Open creates the mailbox in dir, and removes the requests of an earlier process.
func Open(dir string) (*Transport, error) {
	in := filepath.Join(dir, inName)
	err := os.RemoveAll(in)
	if err == nil {
		err = os.MkdirAll(in, 0o700)
	}
	t := &Transport{dir: dir, room: make(chan struct{}, MaxAsks)}
	if err == nil {
		err = t.write()
	}
	if err != nil {
		return nil, fmt.Errorf("create mailbox: %w", err)
	}
	return t, nil
}

// RoundTrip puts the request into the outbox and waits for its response until the request's context ends.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req, err := fit(req)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	var wire bytes.Buffer
	err = req.Write(&wire)
	if req.Body != nil {
		_ = req.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	if wire.Len() > maxRequests {
		return tooLong(req), nil
	}
	select {
	case t.room <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	defer func() { <-t.room }()
	ask := Ask{ID: rand.Text(), Request: wire.Bytes()}
	defer t.drop(ask.ID)
	if err := t.put(ask); err != nil {
		return nil, fmt.Errorf("put the request into the outbox: %w", err)
	}
	return t.await(req, ask.ID)
}

const (
	// mostTranscript is the maximum number of characters of a transcript in an event. The remaining space is for the
	// rest of the event and for other requests.
	mostTranscript = maxRequests - 2<<20
	readStep       = 1 << 20
)

// fit shortens an event request with a transcript that is too long for the outbox: the newest part is kept, and the API
// learns the number of missing bytes, as if it had cut the transcript itself. Any other request stays unchanged.
func fit(req *http.Request) (*http.Request, error) {
	known := req.ContentLength >= 0 && req.ContentLength <= mostTranscript
	if known || req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/events") || req.Header.Get("Content-Encoding") != "" {
		return req, nil
	}
	body, cut, err := shortened(req.Body)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(body), int64(body.Len()), nil
	if cut > 0 {
		query := out.URL.Query()
		query.Set("transcript_cut_bytes", strconv.FormatInt(cut, 10))
		out.URL.RawQuery = query.Encode()
	}
	return out, nil
}

// shortened reads an event and cuts its transcript meanwhile, so that a long transcript is never completely in memory.
// A body that is too long without it is not read to its end.
func shortened(src io.ReadCloser) (body *bytes.Buffer, cut int64, err error) {
	defer func() { _ = src.Close() }()
	body = new(bytes.Buffer)
	long := transcriptcut.New(body, mostTranscript)
	for n := int64(1); n > 0 && body.Len() <= maxRequests; {
		if n, err = body.ReadFrom(io.LimitReader(src, readStep)); err != nil {
			return nil, 0, err
		}
		long.Scan()
	}
	return body, long.Cut(), nil
}

func (t *Transport) put(ask Ask) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := len(ask.Request)
	for _, other := range t.asks {
		size += len(other.Request)
	}
	if size > maxRequests {
		return errors.New("the outbox is full")
	}
	t.asks = append(t.asks, ask)
	return t.write()
}

// tooLong returns the API's response to a body that is too long; the sender may split the batch.
func tooLong(req *http.Request) *http.Response {
	body := `{"code":"` + string(task.CodeInvalid) + `","detail":"The request is too long for an outbox."}`
	return &http.Response{
		StatusCode: http.StatusRequestEntityTooLarge, Header: http.Header{"Content-Type": {"application/problem+json"}},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}
}

// drop removes a request from the outbox, and then its response, so that an answered request is never in the outbox
// without its response.
func (t *Transport) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asks = slices.DeleteFunc(t.asks, func(ask Ask) bool { return ask.ID == id })
	_ = t.write() // the next write includes the removal
	t.sweep()
}

// sweep removes late responses. A file with another name is one that the provider is writing.
func (t *Transport) sweep() {
	files, _ := os.ReadDir(filepath.Join(t.dir, inName))
	for _, file := range files {
		id := file.Name()
		if named(id) && !slices.ContainsFunc(t.asks, func(ask Ask) bool { return ask.ID == id }) {
			_ = os.Remove(t.answer(id))
		}
	}
}

func (t *Transport) answer(id string) string { return filepath.Join(t.dir, inName, id) }

// write replaces the outbox atomically. The caller holds t.mu.
func (t *Transport) write() error {
	return statefile.Save(filepath.Join(t.dir, outName), outbox{Asks: t.asks})
}

// await waits for a complete response. An incomplete one is still being written.
func (t *Transport) await(req *http.Request, id string) (*http.Response, error) {
	for {
		if text, err := os.ReadFile(t.answer(id)); err == nil {
			if resp, whole := parse(text, req); whole {
				return resp, nil
			}
		}
		if err := wait.For(req.Context(), look); err != nil {
			return nil, err
		}
	}
}

func parse(text []byte, req *http.Request) (resp *http.Response, whole bool) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), req)
	if err != nil {
		return nil, false
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err == nil
}
