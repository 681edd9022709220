package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// prefix precedes every route except the health checks.
const prefix = "/api/v1"

// Client is a client of one server. It is safe for concurrent use.
type Client struct {
	base string
	key  string
	http *http.Client
}

// New returns a client of the server at baseURL, for example http://127.0.0.1:18000. If key is empty, the client sends
// none, for a server without authentication. Contexts set the deadlines.
func New(baseURL, key string) *Client {
	return &Client{base: strings.TrimRight(baseURL, "/"), key: key, http: &http.Client{}}
}

// Via returns a client whose requests go by a way of their own to a server in this process.
func Via(way http.RoundTripper, key string) *Client {
	c := New("http://127.0.0.1", key)
	c.http.Transport = way
	return c
}

// BaseURL returns the URL of the server, without a trailing slash.
func (c *Client) BaseURL() string { return c.base }

// call is one request. A body other than nil is sent as JSON.
type call struct {
	method string // default: GET
	path   string
	query  url.Values
	header http.Header
	body   any
	accept int // a status of at least 400 whose response is decoded as a success; 0: none
}

// do sends a call and decodes the response into out, unless out is nil. It returns the HTTP status. Every status of at
// least 400 is an error, except the one that the call accepts.
func (c *Client) do(ctx context.Context, in call, out any) (int, error) {
	res, err := c.send(ctx, in)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		return res.StatusCode, nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return res.StatusCode, unreachable(c.base, fmt.Errorf("read the answer of %s: %w", in.path, err))
	}
	return res.StatusCode, nil
}

// answer sends a call and returns the decoded response.
func answer[T any](ctx context.Context, c *Client, in call) (out T, err error) {
	_, err = c.do(ctx, in, &out)
	return out, err
}

// all returns a complete list, page by page.
func all[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	items := []T{}
	for cursor := ""; ; {
		page, err := answer[Page[T]](ctx, c, call{path: path, query: query("limit", "500", "cursor", cursor)})
		items = append(items, page.Items...)
		if err != nil || page.NextCursor == nil {
			return items, err
		}
		cursor = *page.NextCursor
	}
}

// download sends a call and copies the response to w.
func (c *Client) download(ctx context.Context, path string, w io.Writer) (int64, error) {
	res, err := c.send(ctx, call{path: path})
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	n, err := io.Copy(w, res.Body)
	if err != nil {
		return n, fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return n, nil
}

// query returns parameters by name, without those that have an empty value.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			q.Set(pair[0], pair[1])
		}
	}
	return q
}

// positive returns a number as text; empty if n is not positive.
func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// patience returns the maximum wait of the server as text; empty if wait is not positive.
func patience(wait time.Duration) string {
	if wait <= 0 {
		return ""
	}
	return wait.String()
}

// when returns text if holds is true, and an empty string otherwise.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// send returns a successful response, whose body the caller closes.
func (c *Client) send(ctx context.Context, in call) (*http.Response, error) {
	req, err := c.request(ctx, in)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(c.base, err)
	}
	if res.StatusCode < http.StatusBadRequest || res.StatusCode == in.accept {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, decodeProblem(res.StatusCode, res.Body)
}

func (c *Client) request(ctx context.Context, in call) (*http.Request, error) {
	address := c.base + in.path
	if len(in.query) > 0 {
		address += "?" + in.query.Encode()
	}
	var body io.Reader
	if in.body != nil {
		content, err := json.Marshal(in.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request to %s: %w", in.path, err)
		}
		body = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(in.method, http.MethodGet), address, body)
	if err != nil {
		return nil, task.Errorf(task.CodeInvalid, "Invalid server URL %q: expected one such as http://127.0.0.1:8000.", c.base).WithCause(err)
	}
	if in.header != nil {
		req.Header = in.header.Clone()
	}
	c.decorate(req)
	return req, nil
}

func (c *Client) decorate(req *http.Request) {
	req.Header.Set("Accept", "application/json")
	if req.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
}

// unreachable returns an error with the next step for a request without a response. A cancelled caller keeps its own
// error.
func unreachable(base string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ask %s: %w", base, err)
	}
	return task.Errorf(task.CodeUnavailable,
		"No server answers at %s. Next: run omoi dev, or set --api-url or OMOI_API_URL", base).WithCause(err)
}

// item returns the path of one object of a kind.
func item(kind, id string, more ...string) string {
	return strings.Join(append([]string{prefix, kind, url.PathEscape(id)}, more...), "/")
}
