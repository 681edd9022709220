package openhands

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// Timeouts of calls. A message waits for the tool that runs, and a late success is normal.
const (
	readTimeout = 10 * time.Second
	slowTimeout = 90 * time.Second
)

// Limits of what is read of a response.
const (
	maxAnswer = 64 << 20
	maxDetail = 2000
)

const keyHeader = "X-Session-Api-Key"

// Client calls an agent server. A Client is safe for concurrent use.
type Client struct {
	base string
	key  string
	http *http.Client
}

// New returns a client of the server at an address. Without a key, the server must be on this machine: anyone who reaches a server
// without a key can run commands on it.
func New(address, key string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, task.Invalid("url", "Invalid address of the OpenHands server %q: expected http://HOST:PORT or https://HOST.", address)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" { // which may be secrets
		return nil, task.Invalid("url", "Invalid address of the OpenHands server %s: it has a user, a query or a fragment. Next: set WORKSPACE_REMOTE_API_KEY for the key.", u.Host)
	}
	if key == "" && !isLoopback(u.Hostname()) {
		return nil, task.Invalid("key", "The OpenHands server at %s needs a key: without one, anyone who reaches it can run commands on it. Next: set WORKSPACE_REMOTE_API_KEY.", u.Host)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	return &Client{base: strings.TrimRight(address, "/"), key: key, http: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Address returns the address of the server.
func (c *Client) Address() string { return c.base }

// call is a request to the server.
type call struct {
	method, path string
	query        url.Values
	body         any // sent as JSON; nil: none
	raw          io.Reader
	media        string // type of raw
	timeout      time.Duration
	keyless      bool
}

// ask sends a request and decodes the answer into out.
func (c *Client) ask(ctx context.Context, q call, out any) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(q.timeout, readTimeout))
	defer cancel()
	resp, err := c.send(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return unreached(q, err)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return task.Errorf(task.CodeUnavailable, "The OpenHands server gave an unreadable answer to %s %s.", q.method, q.path).WithCause(err)
	}
	return nil
}

// do sends a request whose answer says only that the work is done. A success that does not say so is that of a proxy.
func (c *Client) do(ctx context.Context, q call) error {
	var done struct {
		Success bool `json:"success"`
	}
	err := c.ask(ctx, q, &done)
	if err == nil && !done.Success {
		err = task.Errorf(task.CodeUnavailable, "The OpenHands server does not confirm %s %s.", q.method, q.path)
	}
	return err
}

// send sends a request. The caller closes the body of a success.
func (c *Client) send(ctx context.Context, q call) (*http.Response, error) {
	req, err := c.request(ctx, q)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreached(q, err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a partial body is enough
	return nil, refused(q, resp.StatusCode, body)
}

func (c *Client) request(ctx context.Context, q call) (*http.Request, error) {
	body, media := q.raw, q.media
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", q.method, q.path, err)
		}
		body, media = bytes.NewReader(text), "application/json"
	}
	address := c.base + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, q.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make request %s %s: %w", q.method, q.path, err)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if c.key != "" && !q.keyless {
		req.Header.Set(keyHeader, c.key)
	}
	return req, nil
}

// unreached is the error of a request without an answer.
func unreached(q call, err error) error {
	return task.Errorf(task.CodeUnavailable, "The OpenHands server gave no answer to %s %s.", q.method, q.path).WithCause(err)
}

// refused is the error of an answer with an error status.
func refused(q call, status int, body []byte) error {
	return task.Errorf(codeOf(status), "The OpenHands server answered %s %s with %d: %s", q.method, q.path, status, detail(body))
}

// codeOf returns the code of a status. The server answers 422 for what is invalid, and 500 for what it did not foresee.
func codeOf(status int) task.Code {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return task.CodeUnauthorized
	case status == http.StatusNotFound:
		return task.CodeNotFound
	case status == http.StatusConflict:
		return task.CodeConflict
	case status == http.StatusTooManyRequests:
		return task.CodeExhausted
	case status >= http.StatusInternalServerError:
		return task.CodeUnavailable
	}
	return task.CodeInvalid
}

// detail returns what an error document says.
func detail(body []byte) string {
	var document struct {
		Detail    json.RawMessage `json:"detail"`
		Exception string          `json:"exception"`
	}
	if json.Unmarshal(body, &document) != nil || len(document.Detail) == 0 {
		return textcut.First(strings.TrimSpace(string(body)), maxDetail)
	}
	var text string
	if json.Unmarshal(document.Detail, &text) != nil {
		text = string(document.Detail)
	}
	return textcut.First(strings.TrimSpace(text+" "+document.Exception), maxDetail)
}
