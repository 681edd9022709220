package shortcut_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheFirstRequestIsNetHTTPsAndLaterOnesAreTaken(t *testing.T) {
	t.Parallel()
	l := dial(t, serve(t, http.HandlerFunc(echo), true))
	for n, front := range []string{"false", "true", "true"} {
		l.say(hot("hello"))
		heard := l.hear()
		require.Equal(t, front, heard.front, n)
		require.Contains(t, heard.text, `POST /hot /hot here HTTP/1.1 5 "hello" <nil>`)
		require.Contains(t, heard.text, `Content-Type=["text/plain"]`)
	}
}

func TestOnlyWhatIsPlainIsTaken(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(echo), true)
	for name, c := range map[string]struct {
		request string
		front   string
	}{
		"as it should be":      {hot("x"), "true"},
		"no body":              {"POST /hot HTTP/1.1\r\nHost: here\r\n\r\n", "true"},
		"small letters":        {"POST /hot HTTP/1.1\r\nhost:here\r\ncontent-length:\t1 \r\n\r\nx", "true"},
		"another method":       {"PUT /hot HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx", "false"},
		"another path":         {"POST /cold HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx", "false"},
		"a query":              {"POST /hot?x=1 HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx", "false"},
		"an escape":            {"POST /hot%2f HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx", "false"},
		"the whole address":    {"POST http://here/hot HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx", "false"},
		"chunks":               {"POST /hot HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "false"},
		"to be told to go on":  {"POST /hot HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n", "false"},
		"the last one":         {"POST /hot HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", "false"},
		"too long":             {hot(strings.Repeat("x", maxBody+1)), "false"},
		"as long as may be":    {hot(strings.Repeat("x", maxBody)), "true"},
		"a long head":          {"POST /hot HTTP/1.1\r\nHost: here\r\nX: " + strings.Repeat("x", 5000) + "\r\nContent-Length: 1\r\n\r\nx", "false"},
		"many fields":          {"POST /hot HTTP/1.1\r\nHost: here\r\n" + strings.Repeat("X: y\r\n", 30) + "Content-Length: 1\r\n\r\nx", "false"},
		"an odd but good host": {"POST /hot HTTP/1.1\r\nHost: he're\r\nContent-Length: 1\r\n\r\nx", "false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := greeted(t, s)
			l.say(c.request)
			require.Equal(t, c.front, l.hear().front)
		})
	}
}

func TestNetHTTPAndTheFrontTakeTurnsOnOneConnection(t *testing.T) {
	t.Parallel()
	l := greeted(t, serve(t, http.HandlerFunc(echo), true))
	for range 3 {
		for _, request := range []string{hot("one"), "PUT /cold HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\n", hot("two")} {
			l.say(request)
			if strings.HasPrefix(request, "PUT") {
				l.say("12") // the rest of a body that net/http reads
				l.say("345")
				require.Equal(t, "false", l.hear().front)
				continue
			}
			require.Equal(t, "true", l.hear().front)
		}
	}
}

// net/http may get the first byte of a request while it still looks after the one before.
func TestAByteThatComesEarlyCostsOneRequestOnly(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	l := dial(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked <- struct{}{}
			<-answer
		}
		echo(w, r)
	}), true))
	l.say("GET /slow HTTP/1.1\r\nHost: here\r\n\r\n")
	<-asked
	l.say(hot("early"))
	close(answer)
	require.Contains(t, l.hear().text, "GET /slow")
	require.Contains(t, l.hear().text, `"early"`)
	l.say(hot("late"))
	require.Equal(t, "true", l.hear().front)
}

func TestRequestsBehindEachOtherAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	l := greeted(t, serve(t, http.HandlerFunc(echo), true))
	l.say(hot("1") + hot("2") + hot("3") + "GET /cold HTTP/1.1\r\nHost: here\r\n\r\n" + hot("4"))
	for _, want := range []string{`"1"`, `"2"`, `"3"`, "GET /cold", `"4"`} {
		require.Contains(t, l.hear().text, want)
	}
	l.say(hot("5"))
	require.Equal(t, "false", l.hear().front, "net/http had bytes of the next request")
}

func TestABodyMayComeLaterThanItsHead(t *testing.T) {
	t.Parallel()
	l := greeted(t, serve(t, http.HandlerFunc(echo), true))
	head, body, _ := strings.Cut(hot("hello there"), "\r\n\r\n")
	for _, part := range []string{head + "\r\n\r\n", body[:3], body[3:] + hot("next")} {
		l.say(part)
	}
	require.Contains(t, l.hear().text, `"hello there"`)
	require.Contains(t, l.hear().text, `"next"`)
}

func TestABodyThatNobodyReadsIsPassedOver(t *testing.T) {
	t.Parallel()
	l := greeted(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}), true))
	for range 2 {
		l.say(hot(hot("x")))
		require.Equal(t, "POST /hot", l.hear().text)
	}
}

// Who is given no more time hears why before the connection ends.
func TestABodyThatStopsEndsItsConnectionWithAnAnswer(t *testing.T) {
	t.Parallel()
	l := greeted(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			echo(w, r)
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
		_, err := io.ReadAll(r.Body)
		http.Error(w, err.Error(), http.StatusRequestTimeout)
	}), true))
	l.say(strings.TrimSuffix(hot("hello"), "lo"))
	heard := l.hear()
	require.Equal(t, http.StatusRequestTimeout, heard.status)
	require.True(t, heard.close)
	_, err := l.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestACallerThatLeavesInItsBodyIsNoTrouble(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	l := greeted(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			echo(w, r)
			return
		}
		_, err := io.ReadAll(r.Body)
		read <- err
	}), true))
	l.say(strings.TrimSuffix(hot("hello"), "lo"))
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-read, io.ErrUnexpectedEOF)
}

// What was taken is answered: a report whose answer is lost is sent again.
func TestAServerThatIsShutDownAnswersFirst(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked <- struct{}{}
			<-answer
		}
		echo(w, r)
	}), true)
	l, other := greeted(t, s), greeted(t, s)
	l.say(hot("hello"))
	<-asked
	require.NoError(t, s.http.Shutdown(t.Context()), "net/http knows of no request")
	short, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.front.Wait(short), context.Canceled, "nobody waits longer than allowed")
	close(answer)
	require.NoError(t, s.front.Wait(t.Context()))
	require.Contains(t, l.hear().text, `"hello"`)
	for _, gone := range []*line{l, other} {
		_, err := gone.answers.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	}
	require.NoError(t, s.front.Wait(t.Context()))
}

func TestAPanicEndsItsConnectionOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
		echo(w, r)
	}), true)
	l := greeted(t, s)
	l.say(hot("hello"))
	_, err := l.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	greeted(t, s)
}

// A connection that is taken over, as for a WebSocket, is not read by the front any more.
func TestAConnectionMayBeTakenOver(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/take" {
			echo(w, r)
			return
		}
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		if own, ok := conn.(interface{ NetConn() net.Conn }); ok {
			conn = own.NetConn()
		}
		_, writesMany := conn.(*net.TCPConn)
		_, _ = io.CopyN(conn, both, 3*int64(len(hot("echo"))))
		_, _ = io.WriteString(conn, strconv.FormatBool(writesMany))
	}), true)
	l := greeted(t, s)
	l.say(hot("x"))
	require.Equal(t, "true", l.hear().front)
	l.say("GET /take HTTP/1.1\r\nHost: here\r\n\r\n")
	for range 3 {
		l.say(hot("echo"))
		got := make([]byte, len(hot("echo")))
		_, err := io.ReadFull(l.answers, got)
		require.NoError(t, err)
		require.Equal(t, hot("echo"), string(got))
	}
	rest, err := io.ReadAll(l.answers)
	require.NoError(t, err)
	require.Equal(t, "true", string(rest), "the connection itself is to be had")
}

func TestACallerThatSaysNothingIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(echo), true, func(s *server) { s.front.Timeout = 50 * time.Millisecond })
	l := greeted(t, s)
	l.say(hot("x"))
	require.Equal(t, "true", l.hear().front)
	_, err := l.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestTheCallerAndTheServerAreKnown(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		_, _ = io.WriteString(w, addr.String()+" "+r.RemoteAddr)
	}), true)
	l := dial(t, s)
	for range 2 {
		l.say(hot("x"))
		require.Equal(t, l.RemoteAddr().String()+" "+l.LocalAddr().String(), l.hear().text)
	}
}
