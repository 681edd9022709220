// Package apiclient is omoi-agent's client of the API: JSON over HTTP by TCP, a Unix socket or files, with the sandbox
// token. Callers interpret the responses.
package apiclient

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/mailbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// maxAnswer is the maximum number of bytes that are read of a response body.
const maxAnswer = 8 << 20

// Config configures a client.
type Config struct {
	APIURL    string // http://host:port, https://..., unix:///path/to/socket, or file:///path/to/mailbox
	Token     string // bearer token; empty sends none
	SandboxID string
	// Timeout limits one request; zero: 30 s. A long poll adds its wait. See [Client.Fetch] for a download.
	Timeout time.Duration
}

// Client calls the API for one sandbox. A Client is safe for concurrent use.
type Client struct {
	base    string
	token   string
	timeout time.Duration
	http    *http.Client
	local   bool // only this process can use the address
}

// Answer is a response.
type Answer struct {
	Status     int
	RetryAfter time.Duration // zero if the response has no Retry-After
	// Code is the code of omoi's problem document. Code is empty for any other response, for example that of a proxy.
	Code task.Code
	Body []byte // at most 8 MiB
}

// New returns a client. The error is invalid if the URL is neither HTTP, nor a socket, nor a mailbox. One process at a
// time may open a mailbox.
func New(cfg Config) (*Client, error) {
	target, err := url.Parse(cfg.APIURL)
	if err != nil {
		return nil, task.Invalid("api_url", "invalid address of the API").WithCause(err)
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	c := &Client{
		base: "http://omoi", token: cfg.Token, timeout: cmp.Or(cfg.Timeout, 30*time.Second), local: true,
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	switch {
	case target.Scheme == "unix" && target.Path != "":
		transport.Proxy, transport.DialContext = nil, func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", target.Path)
		}
	case target.Scheme == mailbox.Scheme && target.Path != "":
		transport, err := mailbox.Open(target.Path)
		if err != nil {
			return nil, err
		}
		c.http.Transport = transport
	case (target.Scheme == "http" || target.Scheme == "https") && target.Host != "":
		c.base, c.local = strings.TrimSuffix(target.String(), "/"), false
	default:
		return nil, task.Invalid("api_url", "invalid address of the API %q: expected http://, https://, unix:/// or file:///", target.Scheme)
	}
	c.base += "/api/v1/sandboxes/" + url.PathEscape(cfg.SandboxID)
	return c, nil
}

// Local returns the round tripper of a URL that no other program can use, and nil for any other URL.
func (c *Client) Local() http.RoundTripper {
	if !c.local {
		return nil
	}
	return c.http.Transport
}

// Post sends a JSON body to a path below that of the sandbox, optionally compressed.
func (c *Client) Post(ctx context.Context, path string, body []byte, compress bool) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodPost, path: path, media: "application/json", body: body, compress: compress})
}

// Put sends lines of text to a path below that of the sandbox, compressed.
func (c *Client) Put(ctx context.Context, path string, body []byte) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodPut, path: path, media: "application/x-ndjson", body: body, compress: true})
}

// PutBinary sends a body of a media type to a path below that of the sandbox, unchanged.
func (c *Client) PutBinary(ctx context.Context, path, media string, body []byte) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodPut, path: path, media: media, body: body})
}

const (
	fetchHold = 2 * time.Minute // by the pull transport, a whole response comes at once
	fetchMost = time.Hour
)

// Fetch writes the response body of a path below that of the sandbox to w. The Answer has a body only for an error. The timeout limits
// the time without a further byte, since a body may be large.
func (c *Client) Fetch(ctx context.Context, path string, w io.Writer) (Answer, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	idle := time.AfterFunc(c.timeout+fetchHold, stop)
	defer idle.Stop()
	to := writerFunc(func(b []byte) (int, error) {
		idle.Reset(c.timeout + fetchHold)
		return w.Write(b)
	})
	return c.ask(ctx, request{method: http.MethodGet, path: path, to: to, wait: fetchMost})
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Insist repeats a request until the response is not a temporary error, or ctx ends: then it also returns the last response, if any.
func Insist(ctx context.Context, ask func() (Answer, error)) (Answer, error) {
	var last Answer
	for delay := 200 * time.Millisecond; ; delay = min(2*delay, 15*time.Second) {
		answer, err := ask()
		if err == nil && !answer.Later() {
			return answer, nil
		}
		if err == nil {
			last = answer
		}
		if err := wait.For(ctx, max(wait.Jitter(delay), answer.RetryAfter)); err != nil {
			return last, err
		}
	}
}

// Later reports whether the response is a temporary error.
func (a Answer) Later() bool {
	status := a.Status
	return status >= http.StatusInternalServerError || status/100 == 3 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// Get reads a path below that of the sandbox. hold is the time for which the server may delay the response.
func (c *Client) Get(ctx context.Context, path string, hold time.Duration) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodGet, path: path, wait: hold})
}

type request struct {
	method, path, media string

	body     []byte
	compress bool
	wait     time.Duration
	to       io.Writer // writer of a successful response body; nil: the Answer has the body
}

func (c *Client) ask(ctx context.Context, r request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+r.wait)
	defer cancel()
	if r.compress {
		r.body = deflate(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return Answer{}, fmt.Errorf("create request: %w", err)
	}
	if r.media != "" {
		req.Header.Set("Content-Type", r.media)
	}
	if r.compress {
		req.Header.Set("Content-Encoding", "gzip")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("Omoi-Protocol", strconv.Itoa(agentconfig.Protocol))
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("call the API: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body []byte
	if r.to != nil && resp.StatusCode == http.StatusOK {
		_, err = io.Copy(r.to, resp.Body)
	} else {
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}
	if err != nil {
		return Answer{}, fmt.Errorf("read the API's answer: %w", err)
	}
	return Answer{
		Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header), Body: body, Code: codeOf(resp.Header, body),
	}, nil
}

func codeOf(h http.Header, body []byte) task.Code {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/problem+json") {
		return ""
	}
	var problem struct {
		Code task.Code `json:"code"`
	}
	_ = json.Unmarshal(body, &problem) // an unreadable body has no code
	return problem.Code
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 300)) * time.Second
}

func deflate(body []byte) []byte {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	_, _ = w.Write(body) // writes to a buffer do not fail
	_ = w.Close()
	return buf.Bytes()
}
