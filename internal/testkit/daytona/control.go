package daytona

import (
	"net/http"
	"time"
)

// controlPath is where the switches are over HTTP, beside the API.
const controlPath = "/emulator/"

// controlRoutes: GET, POST and DELETE of faults, the sandboxes that are there, the clock.
func (s *Server) controlRoutes(mux *http.ServeMux) {
	for pattern, handle := range map[string]handler{
		"GET /emulator/faults":           func(*http.Request) (any, error) { return s.faults.On(), nil },
		"POST /emulator/faults":          s.setFault,
		"DELETE /emulator/faults":        func(*http.Request) (any, error) { s.faults.Reset(); return s.faults.On(), nil },
		"DELETE /emulator/faults/{what}": func(r *http.Request) (any, error) { s.faults.Clear(r.PathValue("what")); return s.faults.On(), nil },
		"GET /emulator/sandboxes":        func(*http.Request) (any, error) { return s.Boxes(), nil },
		"POST /emulator/advance":         s.advanceBy,
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
