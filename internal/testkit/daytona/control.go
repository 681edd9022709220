package daytona

import (
	"net/http"
	"time"
)

// controlPath is where the switches are over HTTP, beside the API.
const controlPath = "/standin/"

// controlRoutes: GET, POST and DELETE of faults, the sandboxes that are there, the clock.
func (s *Server) controlRoutes(mux *http.ServeMux) {
	for pattern, handle := range map[string]handler{
		"GET /standin/faults":           func(*http.Request) (any, error) { return s.faults.On(), nil },
		"POST /standin/faults":          s.setFault,
		"DELETE /standin/faults":        func(*http.Request) (any, error) { s.faults.Reset(); return s.faults.On(), nil },
		"DELETE /standin/faults/{what}": func(r *http.Request) (any, error) { s.faults.Clear(r.PathValue("what")); return s.faults.On(), nil },
		"GET /standin/sandboxes":        func(*http.Request) (any, error) { return s.Boxes(), nil },
		"POST /standin/advance":         s.advanceBy,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !s.authorized(r) {
				failAPI(w, r, refuse(http.StatusUnauthorized, "Invalid credentials"))
				return
			}
			body, err := handle(r)
			if err != nil {
				failAPI(w, r, err)
				return
			}
			answer(w, http.StatusOK, body)
		})
	}
}

func (s *Server) setFault(r *http.Request) (any, error) {
	var f Fault
	if err := read(r, &f); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return map[string]string{"id": s.faults.Set(f)}, nil
}

// advanceBy moves the clock, as in {"by":"15m"}.
func (s *Server) advanceBy(r *http.Request) (any, error) {
	var in struct {
		By string `json:"by"`
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(in.By)
	if err != nil || d < 0 {
		return nil, badRequest("by is a time to go on, as 15m")
	}
	s.Advance(d)
	return map[string]string{"now": stamp(s.Now())}, nil
}
