// Package apiclient is the agent's client of the API: JSON over HTTP by TCP, by a Unix socket or by files, with the
// sandbox token. Callers interpret the responses.
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

// maxAnswer bounds what is read of one answer.
const maxAnswer = 8 << 20

// Config names the API and the sandbox that speaks.
type Config struct {
	APIURL    string // http://host:port, https://..., unix:///path/to/socket, or file:///path/to/mailbox
	Token     string // bearer token; empty sends none
	SandboxID string
	// Timeout of one exchange; zero is 30 s. A long poll adds its wait.
	Timeout time.Duration
}

// Client speaks for one sandbox. It is safe for concurrent use.
type Client struct {
	base    string
	token   string
	timeout time.Duration
	http    *http.Client
	local   bool // no program but this one can use the address
}

// Answer is a response.
type Answer struct {
	Status     int
	RetryAfter time.Duration // zero if the response has no Retry-After
	// Code is the code of omoi's problem document. It is empty for any other response, for example that of a proxy.
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

// Post sends a JSON body to a path below the sandbox's own, compressed if asked.
func (c *Client) Post(ctx context.Context, path string, body []byte, compress bool) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodPost, path: path, media: "application/json", body: body, compress: compress})
}

// Put sends lines of text to a path below the sandbox's own, compressed.
func (c *Client) Put(ctx context.Context, path string, body []byte) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodPut, path: path, media: "application/x-ndjson", body: body, compress: true})
}

// Fetch writes the response body of a path below the sandbox's own to w. The Answer has a body only for an error.
func (c *Client) Fetch(ctx context.Context, path string, w io.Writer) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodGet, path: path, to: w})
}

// Insist repeats a request until a server responds other than with a temporary error. The error is ctx's.
func Insist(ctx context.Context, ask func() (Answer, error)) (Answer, error) {
	for delay := 200 * time.Millisecond; ; delay = min(2*delay, 15*time.Second) {
		answer, err := ask()
		if err == nil && !answer.Later() {
			return answer, nil
		}
		if err := wait.For(ctx, max(wait.Jitter(delay), answer.RetryAfter)); err != nil {
			return Answer{}, err
		}
	}
}

// Later reports whether a response says nothing about the request itself.
func (a Answer) Later() bool {
	status := a.Status
	return status >= http.StatusInternalServerError || status/100 == 3 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// Get reads a path below the sandbox's own; hold is how long the server may hold the answer.
func (c *Client) Get(ctx context.Context, path string, hold time.Duration) (Answer, error) {
	return c.ask(ctx, request{method: http.MethodGet, path: path, wait: hold})
}

type request struct {
	method, path, media string

	body     []byte
	compress bool
	wait     time.Duration
	to       io.Writer // of the body of a success; nil: the answer has it
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
	_ = json.Unmarshal(body, &problem) // what cannot be read has no code
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
	_, _ = w.Write(body) // a buffer does not fail
	_ = w.Close()
	return buf.Bytes()
}
