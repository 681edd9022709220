package github

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server is a GitHub emulator.
type Server struct {
	URL string // base address, as of an Enterprise server

	dir    string
	mux    *http.ServeMux
	server *http.Server

	mu     sync.Mutex
	repos  map[string]*repo
	tokens map[string]map[string]string // token to repository to what it may do: pull or push
	faults []*Fault
	calls  []string
	see    func(call string)
	hidden int // so many lists of pull requests are empty

	apps     map[int64]*app
	installs []*install
	ends     map[string]time.Time         // of tokens that end
	mays     map[string]map[string]string // what the tokens of Apps may do
}

// Start serves repositories that lie below dir until Close is called.
func Start(dir string) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), dir: dir, mux: http.NewServeMux(), repos: map[string]*repo{},
		tokens: map[string]map[string]string{},
	}
	s.apps, s.ends, s.mays = map[int64]*app{}, map[string]time.Time{}, map[string]map[string]string{}
	s.routes()
	s.appRoutes()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // ends with Close
	return s, nil
}

// Close ends the server; its repositories stay.
func (s *Server) Close() error { return s.server.Close() }

// Grant lets a token do pull or push in a repository, which is named owner/name.
func (s *Server) Grant(token, repo, may string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens[token] == nil {
		s.tokens[token] = map[string]string{}
	}
	s.tokens[token][repo] = may
}

// Revoke makes a token worth nothing.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, token)
}

// Calls are those that were made so far, as METHOD and the path below the repository.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// ServeHTTP logs the call, and answers it unless a fault is switched on for it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := r.Method + " " + below(r.URL.Path)
	s.mu.Lock()
	s.calls = append(s.calls, call)
	fault, see := s.fault(call), s.see
	s.mu.Unlock()
	if see != nil {
		see(call)
	}
	switch {
	case fault == nil:
		s.mux.ServeHTTP(w, r)
	case fault.Lose:
		s.mux.ServeHTTP(&nowhere{header: http.Header{}}, r)
		panic(http.ErrAbortHandler) // the connection breaks
	default:
		fault.answer(w)
	}
}

// below is the path within a repository.
func below(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/api/v3/repos"), "/")
	parts := strings.SplitN(path, "/", 3) //nolint:mnd // owner, name, rest
	return parts[len(parts)-1]
}

// nowhere takes an answer that never arrives.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}

// tokenOf is what a request shows: a bearer token to the API, a password to git.
func tokenOf(r *http.Request) string {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "basic") {
		return rest
	}
	raw, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return ""
	}
	_, password, _ := strings.Cut(string(raw), ":")
	return password
}

var (
	errLogin  = errors.New("Bad credentials") //nolint:staticcheck // GitHub's own words
	errHidden = errors.New("Not Found")       //nolint:staticcheck // likewise
)

// enter answers the repository of a request and whether its token may push.
func (s *Server) enter(r *http.Request, owner, name string) (*repo, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	grants, known := s.tokens[tokenOf(r)]
	if ends, some := s.ends[tokenOf(r)]; !known || some && !time.Now().Before(ends) {
		return nil, false, errLogin
	}
	found := s.find(owner + "/" + name)
	if found == nil || grants[found.full()] == "" {
		return nil, false, errHidden
	}
	return found, grants[found.full()] == "push", nil
}

// find answers a repository by its name in any case, as GitHub does; nil if there is none.
func (s *Server) find(full string) *repo {
	for name, one := range s.repos {
		if strings.EqualFold(name, full) {
			return one
		}
	}
	return nil
}
