package shortcut_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reads answers what it could read, 408 where that was not all.
func reads(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.Header().Set("X-Front", map[bool]string{true: "true", false: "false"}[byFront(w)])
	if err != nil {
		w.WriteHeader(http.StatusRequestTimeout)
	}
	_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body))
}

func TestABodyThatNeverComesIsAnswered(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(reads), true, func(s *server) { s.front.Timeout = 100 * time.Millisecond })
	l := greeted(t, s)
	l.say(strings.TrimSuffix(hot("hello"), "hello"))
	heard := l.hear()
	require.Equal(t, answer{http.StatusRequestTimeout, "true", true, "POST /hot "}, heard)
}

// An answer that takes longer than a caller may is sent all the same.
func TestALateAnswerIsSent(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			<-time.After(2 * timeout)
		}
		reads(w, r)
	}), true, func(s *server) { s.front.Timeout = timeout })
	l := greeted(t, s)
	for range 2 {
		l.say(hot("hello"))
		require.Equal(t, answer{http.StatusOK, "true", false, "POST /hot hello"}, l.hear())
	}
}

func TestALongBodyThatNobodyReadsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}), true, func(s *server) { s.front.MaxBody = 1 << 20 })
	l := greeted(t, s)
	l.say("POST /hot HTTP/1.1\r\nHost: here\r\nContent-Length: 500000\r\n\r\n")
	require.Equal(t, answer{http.StatusOK, "", true, "POST /hot"}, l.hear())
	_, err := l.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// net/http ends a connection after such an answer by halves.
func TestAHeadThatIsTooLongIsAnswered(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(echo), true, func(s *server) { s.http.MaxHeaderBytes = 4 << 10 })
	l := dial(t, s)
	l.say("GET /cold HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("y", 9<<10))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, l.next().status)
	_, err := l.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// A deadline that was set for one body is not left to the next request.
func TestADeadlineEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	l := greeted(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads(w, r)
		if r.Method == http.MethodPost {
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
		}
	}), true))
	for range 3 {
		l.say(hot("hello"))
		require.Equal(t, answer{http.StatusOK, "true", false, "POST /hot hello"}, l.hear())
	}
}

// Behind a POST as many line ends are passed over as net/http passes over, whoever answered it.
func TestLineEndsBehindAPost(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		var heard [2][]int
		for n, front := range []bool{false, true} {
			l := dial(t, serve(t, http.HandlerFunc(reads), front))
			l.say(method + " /first HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
			l.next()
			if front {
				<-l.idle
			}
			for _, ends := range []string{"", "\r\n", "\r\n\r\n"} {
				l.say(hot("x"))
				heard[n] = append(heard[n], l.next().status)
				l.say(ends)
			}
			l.say("\r\n\r\nGET /cold HTTP/1.1\r\nHost: h\r\n\r\n")
			heard[n] = append(heard[n], l.next().status)
		}
		require.Equal(t, heard[0], heard[1], method)
	}
}
