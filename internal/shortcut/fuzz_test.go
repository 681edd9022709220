package shortcut_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever comes on a connection is read by the front as net/http reads it: the same requests,
// in the same order, with the same answers.
func FuzzSameAsNetHTTP(f *testing.F) {
	for _, text := range []string{
		hot("hello"), hot("1") + hot("2"), hot("a") + "GET /cold HTTP/1.1\r\nHost: h\r\n\r\n" + hot("b"),
		"POST /hot/teapot HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcrest",
		"POST /hot HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + hot("x"),
		"POST /hot HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
		"POST /hot HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
		"POST /hot HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc" + hot("x"),
		"POST /hot HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\nabc",
		"POST /hot HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc",
		"POST /hot HTTP/1.1\r\nHost: h\r\n Content-Length: 3\r\n\r\nabc",
		"POST /hot HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc",
		"POST /hot HTTP/1.1\nHost: h\nContent-Length: 3\n\nabc" + hot("x"),
		"POST /hot HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", "POST /hot HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n",
		"POST /hot HTTP/1.1\r\n\r\n", "POST /hot HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "POST /hot HTTP/1.1\r\nHost: a b\r\n\r\n",
		"POST  /hot HTTP/1.1\r\nHost: h\r\n\r\n", "POST /hot HTTP/1.0\r\nHost: h\r\n\r\n", "POST /hot HTTP/1.1 \r\nHost: h\r\n\r\n",
		"\r\nPOST /hot HTTP/1.1\r\nHost: h\r\n\r\n", "POST //hot HTTP/1.1\r\nHost: h\r\n\r\n", "POST /hot/../x HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /hot HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx" + hot("never"),
		"POST /hot HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, close\r\n\r\n" + hot("never"),
		"POST /hot HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
		"POST /hot HTTP/1.1\r\nHost: h\r\nx-a: 1\r\nX-A: 2\r\nX-a:\t3 \r\nCookie: \xff\r\n\r\n",
	} {
		f.Add([]byte(text), uint(len(text)))
		f.Add([]byte(text), uint(10))
	}
	plain, fronted := serve(f, http.HandlerFunc(echo), false), serve(f, http.HandlerFunc(echo), true)
	f.Fuzz(func(t *testing.T, text []byte, at uint) {
		at = min(at, uint(len(text)))
		want := all(t, plain, text[:at], text[at:])
		require.Equal(t, want, all(t, fronted, text[:at], text[at:]))
	})
}
