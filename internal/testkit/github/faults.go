package github

import (
	"net/http"
	"strconv"
	"strings"
)

// Addresses of GitHub's documentation by which clients tell limits apart.
const docSecondary = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"

// Fault is what goes wrong with a call.
type Fault struct {
	Call string // beginning of METHOD and path below the repository, as in [Server.Calls]; empty: every call
	Skip int    // so many calls go well first
	Max  int    // and so many are hit then; 0: one

	Lose       bool   // the call is done, and the connection breaks before its answer
	Status     int    // the call is not done, and this is answered
	Message    string // with this
	RetryAfter int    // seconds; 0: not told
	Location   string // where to go instead; empty: nowhere
	Secondary  bool   // it is GitHub's secondary rate limit
}

// Break switches a fault on.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Max = max(f.Max, 1)
	s.faults = append(s.faults, &f)
}

// Watch calls see at the beginning of every call; it must be safe to be called by many at once.
func (s *Server) Watch(see func(call string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see = see
}

// Hide makes so many lists of pull requests empty, as lists are that lag behind.
func (s *Server) Hide(lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = lists
}

func (s *Server) hides() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden--
	return s.hidden >= 0
}

// fault answers what goes wrong with a call, nil if nothing does.
func (s *Server) fault(call string) *Fault {
	for _, f := range s.faults {
		if f.Max == 0 || !strings.HasPrefix(call, f.Call) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		f.Max--
		return f
	}
	return nil
}

func (f *Fault) answer(w http.ResponseWriter) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	if f.Location != "" {
		w.Header().Set("Location", f.Location)
	}
	doc := "https://docs.github.com/rest"
	if f.Secondary {
		doc = docSecondary
	}
	reply(w, f.Status, map[string]any{"message": f.Message, "documentation_url": doc})
}
