package daytona

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// onBox handles a call about one sandbox, under the lock.
func (s *Server) onBox(do func(r *http.Request, b *box) (any, error)) handler {
	return func(r *http.Request) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		b, err := s.find(r.PathValue("box"))
		if err != nil {
			return nil, err
		}
		return do(r, b)
	}
}

func (s *Server) get(_ *http.Request, b *box) (any, error) { return s.body(b), nil }

// start brings up what is stopped or archived; what is started stays so.
func (s *Server) start(_ *http.Request, b *box) (any, error) {
	switch {
	case b.changing:
		return nil, errChanging()
	case b.state == StateStarted:
	case b.state == StateStopped:
		s.move(b, StateStarting, StateStarted, s.bringUp(s.opts.StartDelay))
	case b.state == StateArchived:
		s.move(b, StateRestoring, StateStarted, s.bringUp(s.opts.StartDelay))
	default:
		return nil, badRequest("Sandbox is not in valid state: %s", b.state)
	}
	return s.body(b), nil
}

func (s *Server) stop(_ *http.Request, b *box) (any, error) {
	switch {
	case b.changing:
		return nil, errChanging()
	case b.state != StateStarted:
		return nil, badRequest("Sandbox is not started: %s", b.state)
	}
	s.halt(b)
	return s.body(b), nil
}

// delete is accepted in any settled state, and refused while something goes on.
func (s *Server) delete(_ *http.Request, b *box) (any, error) {
	if b.changing {
		return nil, errChanging()
	}
	s.remove(b)
	return s.body(b), nil
}

func (s *Server) archive(_ *http.Request, b *box) (any, error) {
	switch {
	case b.changing:
		return nil, errChanging()
	case b.state != StateStopped || b.ephemeral():
		return nil, badRequest("Sandbox is not stopped, or is ephemeral")
	}
	s.move(b, StateArchiving, StateArchived, func(_ context.Context, b *box) { s.settle(b, StateArchived, "") })
	return s.body(b), nil
}

// noClass refuses what this class of sandboxes cannot do.
func (s *Server) noClass(_ *http.Request, b *box) (any, error) {
	return nil, refuse(http.StatusUnprocessableEntity, "Sandbox class %s does not support this: %s", className, b.id)
}

func (s *Server) recover(_ *http.Request, b *box) (any, error) {
	return nil, badRequest("Sandbox is not recoverable: %s", b.state)
}

// setLabels replaces all of them.
func (s *Server) setLabels(r *http.Request, b *box) (any, error) {
	var in struct {
		Labels map[string]string `json:"labels"`
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	if in.Labels == nil {
		return nil, badRequest("labels should not be empty")
	}
	b.labels = in.Labels
	s.note(b)
	return in, nil
}

// setMinutes sets one of the clocks.
func (s *Server) setMinutes(least int, set func(b *box, n int)) handler {
	return s.onBox(func(r *http.Request, b *box) (any, error) {
		n, err := number(r.PathValue("minutes"))
		if err != nil {
			return nil, err
		}
		if n < least {
			return nil, badRequest("the interval must not be less than %d", least)
		}
		set(b, n)
		s.note(b)
		return s.body(b), nil
	})
}

// setTTL counts from now; zero is no end.
func (s *Server) setTTL(b *box, n int) {
	b.destroyAt = time.Time{}
	if n > 0 {
		b.destroyAt = s.clock.now().Add(minutes(n))
	}
}

// keepAlive takes the id, not the name.
func (s *Server) keepAlive(r *http.Request, b *box) (any, error) {
	if r.PathValue("box") != b.id {
		return nil, refuse(http.StatusNotFound, "Sandbox with ID %s not found", r.PathValue("box"))
	}
	b.active = s.clock.now()
	return created{}, nil
}

// setNetwork takes effect at the next start: a running process keeps the network it has.
func (s *Server) setNetwork(r *http.Request, b *box) (any, error) {
	in := struct {
		NetworkBlockAll  *bool   `json:"networkBlockAll"`
		NetworkAllowList *string `json:"networkAllowList"`
		DomainAllowList  *string `json:"domainAllowList"`
	}{&b.in.NetworkBlockAll, &b.in.NetworkAllowList, &b.in.DomainAllowList}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	b.cell.offline = b.in.NetworkBlockAll
	s.note(b)
	return s.body(b), nil
}

func (s *Server) proxyURL(_ *http.Request, _ *box) (any, error) {
	return map[string]string{"url": s.toolboxURL()}, nil
}

// watch looks at the clocks of minutes.
func (s *Server) watch() {
	for {
		_, turned := s.clock.look()
		s.mu.Lock()
		for _, b := range s.boxes {
			s.checkClocks(b)
		}
		s.mu.Unlock()
		if pause(s.life, s.opts.CheckEvery, turned) != nil {
			return
		}
	}
}

// checkClocks does what the clocks of one sandbox say. An open request to the toolbox is
// activity; a busy process is not.
func (s *Server) checkClocks(b *box) {
	now := s.clock.now()
	if b.streams > 0 {
		b.active = now
	}
	switch {
	case b.changing:
	case !b.destroyAt.IsZero() && !now.Before(b.destroyAt):
		s.remove(b)
	case b.state == StateStarted && b.autoStop > 0 && now.Sub(b.active) >= minutes(b.autoStop):
		s.halt(b)
	case slices.Contains([]State{StateStopped, StateArchived}, b.state) && b.autoDelete >= 0 && now.Sub(b.stopped) >= minutes(b.autoDelete):
		s.remove(b)
	}
}
