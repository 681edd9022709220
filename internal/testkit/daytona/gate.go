package daytona

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// injected marks an answer that a fault made. It never goes out.
const injected = "X-Emulator-Injected"

// faulty lets switches answer in place of what comes after, or hold its answer back.
func (s *Server) faulty(next http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, controlPath) {
			next.ServeHTTP(w, r)
			return
		}
		meant := s.meaning(r)
		if s.answered(w, r, meant, fail) {
			return
		}
		if _, lost := s.faults.take(LostAnswer, meant); lost {
			next.ServeHTTP(&unheard{header: http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

// answered reports whether a switch has answered.
func (s *Server) answered(
	w http.ResponseWriter, r *http.Request, meant aim, fail func(w http.ResponseWriter, r *http.Request, err error),
) bool {
	if _, hit := s.faults.take(BadGateway, meant); hit {
		w.Header().Set(injected, "yes")
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	f, hit := s.faults.take(TooMany, meant)
	f.Status, f.Message = http.StatusTooManyRequests, or(f.Message, "ThrottlerException: Too Many Requests")
	if !hit {
		f, hit = s.faults.take(Answer, meant)
	}
	if !hit {
		return false
	}
	w.Header().Set(injected, "yes")
	if f.RetryAfter > 0 {
		w.Header().Set(or(f.Header, "Retry-After"), strconv.Itoa(f.RetryAfter))
	}
	fail(w, r, refuse(or(f.Status, http.StatusInternalServerError), "%s", or(f.Message, "switched on")))
	return true
}

// meaning is what a request can be aimed at by: the sandbox in its path too, by id and name.
func (s *Server) meaning(r *http.Request) aim {
	meant := aim{method: r.Method, path: r.URL.Path}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	key := ""
	switch {
	case len(parts) > 2 && parts[0] == "api" && parts[1] == "sandbox":
		key = parts[2]
	case len(parts) > 1 && parts[0] == "toolbox":
		key = parts[1]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, err := s.find(key); err == nil {
		meant.id, meant.name = b.id, b.name
	}
	return meant
}

// unheard takes an answer that nobody gets.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header            { return u.header }
func (u *unheard) Write(text []byte) (int, error) { return len(text), nil }
func (u *unheard) WriteHeader(int)                {}

// observed shows every exchange to who asked for it.
func (s *Server) observed(next http.Handler, toolbox bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Observe == nil || strings.HasPrefix(r.URL.Path, controlPath) {
			next.ServeHTTP(&honest{ResponseWriter: w}, r)
			return
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // half a request has no answer
		}
		seen := r.Clone(r.Context())
		seen.Body = io.NopCloser(bytes.NewReader(sent))
		r.Body = io.NopCloser(bytes.NewReader(sent))
		h := &honest{ResponseWriter: w, keep: &bytes.Buffer{}}
		next.ServeHTTP(h, r)
		path := strings.TrimPrefix(seen.URL.EscapedPath(), "/api")
		if toolbox {
			path = behindID(seen.URL.EscapedPath())
		}
		s.opts.Observe(Exchange{
			toolbox, seen, path, sent, or(h.status, http.StatusOK), h.Header(), h.keep.Bytes(), h.injected,
		})
	})
}

// behindID is the path that the toolbox itself sees.
func behindID(path string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(path, "/toolbox/"), "/")
	return "/" + rest
}

// honest passes an answer on without the mark, and keeps what it was.
type honest struct {
	http.ResponseWriter

	keep     *bytes.Buffer // nil: not kept
	status   int
	injected bool
}

// Unwrap lets an answer be flushed.
func (h *honest) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Hijack gives the connection away: what follows is a stream.
func (h *honest) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.status = http.StatusSwitchingProtocols
	return http.NewResponseController(h.ResponseWriter).Hijack()
}

func (h *honest) WriteHeader(status int) {
	if h.Header().Get(injected) != "" {
		h.injected = true
		h.Header().Del(injected)
	}
	h.status = status
	h.ResponseWriter.WriteHeader(status)
}

func (h *honest) Write(text []byte) (int, error) {
	if h.keep != nil {
		h.keep.Write(text)
	}
	return h.ResponseWriter.Write(text)
}
