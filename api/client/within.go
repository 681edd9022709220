package client

import (
	"context"
	"io"
	"net/http"
)

// Within returns a client of an API in the same process. Its requests go to the handler without a network, and carry key.
func Within(api http.Handler, key string) *Client {
	c := New("http://127.0.0.1", key)
	c.http.Transport = inProcess{api}
	return c
}

// inProcess sends requests to a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper]. The handler runs until it returns, or until the response is closed.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	body, to := io.Pipe()
	w := &pipeWriter{header: http.Header{}, to: to, began: make(chan *http.Response, 1), body: closing{body, cancel}}
	req := r.Clone(ctx)
	req.RequestURI, req.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	if req.Body == nil {
		req.Body = http.NoBody
	}
	go w.serve(p.handler, req)
	res := <-w.began
	res.Request = r
	return res, nil
}

// closing ends the handler when the reader of its response closes it.
type closing struct {
	*io.PipeReader

	end context.CancelFunc
}

// Close implements [io.Closer].
func (c closing) Close() error {
	c.end()
	return c.PipeReader.Close()
}

// pipeWriter is the [http.ResponseWriter] of a handler whose response is read while it is written.
type pipeWriter struct {
	header http.Header
	to     *io.PipeWriter
	body   io.ReadCloser
	began  chan *http.Response
	status int
}

func (w *pipeWriter) serve(handler http.Handler, r *http.Request) {
	defer func() {
		if recover() != nil { // net/http closes the connection
			_ = w.to.CloseWithError(io.ErrUnexpectedEOF)
		}
		w.WriteHeader(http.StatusOK)
		_ = w.to.CloseWithError(r.Context().Err()) // keeps the first error; nil: the end
	}()
	handler.ServeHTTP(w, r)
}

// Header implements [http.ResponseWriter].
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *pipeWriter) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	w.began <- &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header.Clone(), Body: w.body, ContentLength: -1,
	}
}

// Write implements [http.ResponseWriter].
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(p)
}

// Flush implements [http.Flusher]: nothing is buffered.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
