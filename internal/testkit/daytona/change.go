package daytona

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// note tells everybody who waits, and after the lag the lists, that a sandbox has changed.
func (s *Server) note(b *box) {
	b.updated = s.clock.now()
	s.publish(b)
	close(s.changed)
	s.changed = make(chan struct{})
}

// move changes the state on the way to what is wished for. The caller holds the lock.
func (s *Server) move(b *box, via, to State, then func(ctx context.Context, b *box)) {
	b.state, b.desired, b.changing, b.active = via, to, true, s.clock.now()
	s.note(b)
	s.work(func() { then(s.life, b) })
}

// settle ends a change.
func (s *Server) settle(b *box, state State, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.state, b.reason, b.changing = state, reason, false
	if state == StateStopped {
		b.stopped = s.clock.now()
	}
	s.note(b)
}

// bringUp runs the inside. It is the end of creating, starting and restoring.
func (s *Server) bringUp(delay time.Duration) func(ctx context.Context, b *box) {
	return func(ctx context.Context, b *box) {
		if s.clock.wait(ctx, delay) != nil {
			return
		}
		j, err := s.enter(ctx, b.cell)
		if err != nil {
			s.opts.Log.ErrorContext(ctx, "a sandbox of the Daytona emulator does not start", slog.String("sandbox", b.id),
				slog.String("error", err.Error()))
			s.settle(b, StateError, err.Error())
			return
		}
		s.mu.Lock()
		b.jail = j
		s.mu.Unlock()
		s.settle(b, StateStarted, "")
		s.works.Go(func() { s.mourn(ctx, b, j) }) // this is one of the works
		if _, hit := s.faults.take(DaemonDeath, b.aim()); hit {
			j.murder()
		}
	}
}

// mourn sees a daemon end that nobody told to. Nothing shows for a while; then the sandbox
// is stopped without a reason.
func (s *Server) mourn(ctx context.Context, b *box, j *jail) {
	select {
	case <-j.done:
	case <-ctx.Done():
		return
	}
	if s.clock.wait(ctx, s.opts.DeathLag) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.jail != j || b.changing || b.state != StateStarted {
		return
	}
	s.halt(b)
}

// halt begins to stop a sandbox, which for an ephemeral one is its end.
func (s *Server) halt(b *box) {
	if b.ephemeral() {
		s.remove(b)
		return
	}
	s.move(b, StateStopping, StateStopped, s.bringDown(StateStopped))
}

// bringDown ends the inside; its files stay.
func (s *Server) bringDown(last State) func(ctx context.Context, b *box) {
	return func(ctx context.Context, b *box) {
		if s.clock.wait(ctx, s.opts.StopDelay) != nil {
			return
		}
		s.empty(b)
		s.settle(b, last, "")
	}
}

func (s *Server) empty(b *box) {
	s.mu.Lock()
	j := b.jail
	b.jail = nil
	s.mu.Unlock()
	if j != nil {
		j.kill()
	}
}

// remove begins the end of a sandbox. Its name is free at once.
func (s *Server) remove(b *box) {
	b.free = true
	s.move(b, StateGoing, StateGone, s.destroy)
}

func (s *Server) destroy(ctx context.Context, b *box) {
	if s.clock.wait(ctx, s.opts.DestroyDelay) != nil {
		return
	}
	for stuck, changed := s.faults.holds(StuckDelete, b.aim()); stuck; stuck, changed = s.faults.holds(StuckDelete, b.aim()) {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
	s.empty(b)
	err := b.cell.demolish(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		s.trouble = append(s.trouble, err)
	}
	b.state = StateGone
	delete(s.boxes, b.id)
	s.note(b)
}

// strike lets a new fault act on what is there already.
func (s *Server) strike(f Fault) {
	if f.Switch != DaemonDeath {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		if b.state != StateStarted || b.jail == nil || !b.jail.alive() {
			continue
		}
		if _, hit := s.faults.take(DaemonDeath, b.aim()); hit {
			b.jail.murder()
		}
	}
}

// await waits until a sandbox has got to where it goes, at most for a time.
func (s *Server) await(ctx context.Context, b *box, limit time.Duration) (sandboxBody, error) {
	for end := s.clock.now().Add(limit); ; {
		s.mu.Lock()
		body, settled, changed := s.body(b), !b.changing, s.changed
		s.mu.Unlock()
		left := end.Sub(s.clock.now())
		if settled || left <= 0 {
			return body, nil
		}
		if err := pause(ctx, left, changed); err != nil {
			return body, errors.Join(errAbort, err)
		}
	}
}
