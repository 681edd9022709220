package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Append stores an event and returns its number. With must set, the limit does not apply; otherwise a full spool is
// [ErrFull]. body must be valid JSON without newlines.
func (s *Spool) Append(body json.RawMessage, must bool) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return 0, os.ErrClosed
	}
	s.drainMemory()
	r := Record{N: s.next, Body: body, at: s.cfg.Clock().Milliseconds()}
	if len(s.mem) == 0 {
		if !must && !s.room(len(body)) {
			return 0, ErrFull
		}
		err := s.write(r)
		if err == nil {
			s.next++
			return r.N, nil
		}
		s.refused(err)
	}
	return s.remember(r, must)
}

// Room reports whether there is room for an event of n bytes.
func (s *Spool) Room(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mem) == 0 && s.room(n)
}

func (s *Spool) room(n int) bool {
	var total int64
	for _, seg := range s.segs {
		if seg.last > s.state.acked {
			total += seg.size
		}
	}
	return total+int64(n) <= s.cfg.Limit
}

// remember keeps a record in memory. remember first sets the flag in the state file, so that the next start does not
// reuse a number that is in no file.
func (s *Spool) remember(r Record, must bool) (int64, error) {
	if !must && s.memBytes+int64(len(r.Body)) > s.cfg.Memory {
		return 0, ErrFull
	}
	if !s.state.volatile {
		s.state.volatile = true
		_ = s.writeState() // on failure there is no other place for the flag
	}
	s.mem = append(s.mem, r)
	s.memBytes += int64(len(r.Body))
	s.next++
	return r.N, nil
}

func (s *Spool) refused(err error) {
	s.diskErr = err
	s.retryAt = time.Now().Add(s.cfg.Retry)
}

// drainMemory writes the records in memory to disk, when the disk accepts writes again.
func (s *Spool) drainMemory() {
	if s.diskErr == nil || time.Now().Before(s.retryAt) {
		return
	}
	for len(s.mem) > 0 {
		if err := s.write(s.mem[0]); err != nil {
			s.refused(err)
			return
		}
		s.memBytes -= int64(len(s.mem[0].Body))
		s.mem = s.mem[1:]
	}
	s.mem, s.diskErr, s.state.volatile = nil, nil, false
	_ = s.writeState()
}

// write appends a record to the last segment, or to a new one. After a failure it removes the incomplete line.
func (s *Spool) write(r Record) error {
	seg := &s.segs[len(s.segs)-1]
	if limit := min(max(s.cfg.Limit/16, minSegmentBytes), maxSegmentBytes); seg.size >= limit || seg.last+1 != r.N {
		if err := s.addSegment(r.N); err != nil {
			return err
		}
		seg = &s.segs[len(s.segs)-1]
	}
	line := encode(r)
	if _, err := s.w.WriteAt(line, seg.size); err != nil {
		_ = s.w.Truncate(seg.size)
		return fmt.Errorf("write spool: %w", err)
	}
	seg.size += int64(len(line))
	seg.last = r.N
	return nil
}

// addSegment starts the segment whose first record is n. addSegment syncs the previous one, because [Spool.Sync] covers
// the last segment only.
func (s *Spool) addSegment(n int64) error {
	path := filepath.Join(s.dir, fmt.Sprintf("%020d.events", n))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create spool segment: %w", err)
	}
	if s.w != nil {
		_ = s.w.Sync()
		_ = s.w.Close()
	}
	s.w = f
	if len(s.segs) > 0 && s.segs[len(s.segs)-1].last < s.segs[len(s.segs)-1].first {
		_ = os.Remove(s.segs[len(s.segs)-1].path)
		s.segs = s.segs[:len(s.segs)-1]
	}
	s.segs = append(s.segs, segment{path: path, first: n, last: n - 1})
	s.trim()
	return nil
}

// Drop counts a dropped event. The count survives a crash: it is in the state file, which can be written on a full
// disk.
func (s *Spool) Drop(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.dropped == 0 {
		s.state.since = now.UnixMilli()
	}
	s.state.dropped++
	if s.stateF != nil {
		_ = s.writeState() // the count in memory is correct anyway
	}
}

// Dropped returns the number of dropped events since the last stored report, and the time of the first one.
func (s *Spool) Dropped() (n int64, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.dropped, time.UnixMilli(s.state.since)
}

// Told records that a report of n dropped events is stored.
func (s *Spool) Told(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.dropped -= n
	if s.stateF != nil {
		_ = s.writeState() // otherwise they are reported twice
	}
}
