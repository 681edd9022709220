package shortcut

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// turn is what one request needs while it is answered. It is the request's body and the
// writer of its answer.
type turn struct {
	head   head
	conn   *conn
	asked  http.Header
	coming []byte // what has come of the body
	rest   int64  // what has not

	header http.Header
	status int
	body   []byte
	text   []byte // the answer as it is sent
}

// serve answers the request whose head was read and whose body begins with so much.
func (t *turn) serve(c *conn, body []byte) error {
	t.conn, t.coming, t.rest = c, body, t.head.length-int64(len(body))
	t.status, t.body = 0, t.body[:0]
	if t.rest > 0 {
		c.limited.Store(0)
	}
	c.limit()
	clear(t.asked)
	clear(t.header)
	r := new(http.Request)
	*r = *c.blank()
	r.Method, r.RequestURI, r.URL = t.head.method, t.head.target, &url.URL{Path: strings.Clone(t.head.target)}
	r.Header, r.Body, r.ContentLength = t.asked, t, t.head.length
	t.head.fill(r)
	c.front.Handler.ServeHTTP(t, r)
	return t.send()
}

// send answers once the whole body has come. Where that will not be, the connection ends, and
// what comes meanwhile is read: a connection that is reset would take the answer along.
func (t *turn) send() error {
	incomplete := t.pass()
	if incomplete != nil {
		t.header.Set("Connection", "close")
	}
	t.write()
	c := t.conn
	c.limit() // the handler may have taken long, or set a deadline
	if _, err := c.Write(t.text); err != nil || incomplete == nil {
		return err
	}
	const patience = 500 * time.Millisecond // as net/http has
	_, _ = c.CloseWrite(), c.SetReadDeadline(time.Now().Add(patience))
	_, _ = io.CopyN(io.Discard, c.Conn, c.front.MaxBody)
	return incomplete
}

// errUnread ends a connection on which more is to come than anybody wants.
var errUnread = errors.New("most of the body was not read")

// pass passes over what is left of the body, if that is no more than net/http would pass over.
func (t *turn) pass() error {
	const most = 256 << 10
	if t.rest >= most {
		return errUnread
	}
	_, err := io.Copy(io.Discard, t)
	return err
}

// Read implements [io.Reader] for the body.
func (t *turn) Read(p []byte) (int, error) {
	if len(t.coming) > 0 {
		n := copy(p, t.coming)
		t.coming = t.coming[n:]
		return n, nil
	}
	if t.rest == 0 {
		return 0, io.EOF
	}
	n, err := t.conn.Conn.Read(p[:min(int64(len(p)), t.rest)])
	if t.rest -= int64(n); err == io.EOF { //nolint:errorlint // a connection says it so
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements [io.Closer] for the body. What is left of it is read in any case.
func (t *turn) Close() error { return nil }

// Header implements [http.ResponseWriter].
func (t *turn) Header() http.Header { return t.header }

// WriteHeader implements [http.ResponseWriter].
func (t *turn) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
}

// Write implements [http.ResponseWriter].
func (t *turn) Write(p []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	t.body = append(t.body, p...)
	return len(p), nil
}

// SetReadDeadline is what [http.ResponseController] looks for. The zero time gives back what
// every request has.
func (t *turn) SetReadDeadline(at time.Time) error {
	t.conn.limited.Store(0)
	if at.IsZero() {
		t.conn.limit()
		return nil
	}
	return t.conn.SetReadDeadline(at)
}

// write puts the answer together.
func (t *turn) write() {
	t.WriteHeader(http.StatusOK)
	text := t.text[:0]
	text = append(text, "HTTP/1.1 "...)
	text = strconv.AppendInt(text, int64(t.status), 10)
	text = append(append(append(text, ' '), http.StatusText(t.status)...), "\r\n"...)
	for name, values := range t.header {
		for _, value := range values {
			text = append(append(append(text, name...), ": "...), oneLine(value)...)
			text = append(text, "\r\n"...)
		}
	}
	text = time.Now().UTC().AppendFormat(append(text, "Date: "...), http.TimeFormat)
	text = strconv.AppendInt(append(text, "\r\nContent-Length: "...), int64(len(t.body)), 10)
	t.text = append(append(text, "\r\n\r\n"...), t.body...)
}

// oneLine keeps a value from beginning another line.
func oneLine(value string) string {
	if !strings.ContainsAny(value, "\r\n") {
		return value
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(value)
}
