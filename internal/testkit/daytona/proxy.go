package daytona

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"
)

const skipActivity = "X-Daytona-Skip-Last-Activity-Update"

// toolboxRoutes is the proxy in front of the daemons.
func (s *Server) toolboxRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/toolbox/{box}/", s.forward)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failProxy(w, r,
			refuse(http.StatusNotFound, "no such path; the toolbox is at toolboxProxyUrl of a sandbox and its id"))
	})
	return s.observed(s.faulty(mux, failProxy), true)
}

// forward hands a request to the daemon of its sandbox, without the credential.
func (s *Server) forward(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(r) {
		failProxy(w, r, refuse(http.StatusUnauthorized, "unauthorized: invalid credentials"))
		return
	}
	b, j, err := s.admitToolbox(r)
	if err != nil {
		failProxy(w, r, err)
		return
	}
	if r.Header.Get(skipActivity) != "true" {
		s.linger(b)
		defer s.leave(b)
	}
	upgrade := r.Header.Get("Upgrade") != ""
	ctx, cancel := context.WithTimeout(r.Context(), s.opts.RequestLimit)
	if upgrade {
		cancel()
		ctx, cancel = context.WithCancel(r.Context())
	}
	defer cancel()
	if upgrade {
		w = s.breakable(w, b.aimAt(r))
	}
	proxy := &httputil.ReverseProxy{
		Transport: j.through, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", "daemon"
			p.Out.URL.Path, p.Out.URL.RawPath = behindID(p.In.URL.Path), rawBehindID(p.In.URL)
			p.Out.Header.Del("Authorization")
		},
		// What the real proxy answers for a daemon that does not: a bare 502.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.Header().Set(injected, "yes")
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// breakable is the answer of a stream, which a switch may cut.
func (s *Server) breakable(w http.ResponseWriter, meant aim) http.ResponseWriter {
	if broken, hit := s.faults.take(DroppedStream, meant); hit {
		return &fragile{ResponseWriter: w, left: broken.After}
	}
	return w
}

// rawBehindID keeps what was escaped in a path, as an id of a session with a slash is.
func rawBehindID(in *url.URL) string {
	if in.RawPath == "" {
		return ""
	}
	return behindID(in.RawPath)
}

// admitToolbox finds the daemon; the id alone counts, not the name.
func (s *Server) admitToolbox(r *http.Request) (*box, *jail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[r.PathValue("box")]
	switch {
	case b == nil:
		return nil, nil, refuse(http.StatusNotFound, "sandbox %s not found", r.PathValue("box"))
	case slices.Contains([]State{StateStopped, StateArchived}, b.state):
		return nil, nil, refuse(http.StatusNotFound, "sandbox is %s", b.state)
	case b.jail == nil || b.state != StateStarted:
		return nil, nil, badRequest("no IP address found. Is the Sandbox started?")
	}
	return b, b.jail, nil
}

// linger and leave are around a request: while it is open it is activity.
func (s *Server) linger(b *box) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.active = s.clock.now()
	b.streams++
}

func (s *Server) leave(b *box) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.active = s.clock.now()
	b.streams--
}

// fragile is an answer whose connection breaks off after some bytes.
type fragile struct {
	http.ResponseWriter

	left int
}

// Hijack gives the connection, to break.
func (f *fragile) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(f.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &brittle{Conn: conn, left: f.left}, buffered, nil
}

// brittle is a connection that is cut without a word.
type brittle struct {
	net.Conn

	mu   sync.Mutex
	left int
}

var errCut = errors.New("the stream was cut")

func (b *brittle) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(text) <= b.left {
		b.left -= len(text)
		return b.Conn.Write(text)
	}
	_, _ = b.Conn.Write(text[:b.left])
	b.left = 0
	_ = b.SetDeadline(time.Now())
	return 0, errors.Join(errCut, b.Close())
}
