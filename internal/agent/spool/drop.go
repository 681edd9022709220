package spool

import "time"

// Drop counts an event that was left out. The count survives a death: it stands in the state
// file, which can be written on a full disk.
func (s *Spool) Drop(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.dropped == 0 {
		s.state.since = now.UnixMilli()
	}
	s.state.dropped++
	if s.stateF != nil {
		_ = s.writeState() // the count in memory is right all the same
	}
}

// Dropped tells how many events were left out since a report of it was stored last, and when
// the first of them was.
func (s *Spool) Dropped() (n int64, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.dropped, time.UnixMilli(s.state.since)
}

// Told says that a report of n events that were left out is stored.
func (s *Spool) Told(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.dropped -= n
	if s.stateF != nil {
		_ = s.writeState() // else they are told of again, which is better than never
	}
}
