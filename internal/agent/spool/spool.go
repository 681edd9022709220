// Package spool stores numbered events on disk until the API has acknowledged them. The events survive a restart and an
// incomplete last line. If the disk is full, the spool continues in memory within limits. Numbers have no gaps: an
// event that is not accepted gets none.
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ErrFull is returned for an event that may be dropped, if the spool is full.
var ErrFull = errors.New("the spool is full")

// ErrLocked is returned if another process writes the spool.
var ErrLocked = errors.New("the spool is in use by another process")

// Defaults of [Config], and sizes of segments.
const (
	DefaultLimit    = 256 << 20
	DefaultMemory   = 4 << 20
	maxSegmentBytes = 4 << 20
	minSegmentBytes = 4 << 10
)

// Config has the limits of a spool.
type Config struct {
	Limit  int64 // bytes on disk; zero: 256 MiB
	Memory int64 // bytes in memory while the disk rejects writes; zero: 4 MiB
	// Retry is the interval of retries while the disk rejects writes; zero: 1 s.
	Retry time.Duration
	// Clock replaces [Clock] in tests; nil: Clock.
	Clock func() time.Duration
}

type segment struct {
	path        string
	first, last int64 // last is first-1 in an empty segment
	size        int64
}

// Spool is an open spool. A Spool is safe for concurrent use.
type Spool struct {
	mu       sync.Mutex
	cfg      Config
	dir      string
	lock     *os.File
	stateF   *os.File
	state    state
	segs     []segment
	w        *os.File // last segment
	next     int64
	synced   int64
	mem      []Record // records that follow those on disk, while the disk rejects writes
	memBytes int64
	retryAt  time.Time
	diskErr  error
	cur      cursor
	damaged  int64
}

// Open creates or recovers the spool in dir, and locks it.
func Open(dir string, cfg Config) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create spool folder: %w", err)
	}
	s := &Spool{cfg: cfg.withDefaults(), dir: dir}
	if err := s.takeLock(); err != nil {
		return nil, err
	}
	if err := s.recover(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (c Config) withDefaults() Config {
	c.Limit = cmp.Or(max(c.Limit, 0), DefaultLimit)
	c.Memory = cmp.Or(max(c.Memory, 0), DefaultMemory)
	c.Retry = cmp.Or(max(c.Retry, 0), time.Second)
	if c.Clock == nil {
		c.Clock = Clock
	}
	return c
}

func (s *Spool) takeLock() error {
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open spool lock: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			return ErrLocked
		}
		return fmt.Errorf("lock spool: %w", err)
	}
	s.lock = f
	return nil
}

// Damaged returns the number of lines that Open cut off as unreadable, or because they follow an unreadable line.
func (s *Spool) Damaged() int64 { return s.damaged }

// ID returns the current ID of the spool, and the number before the first one under this ID.
func (s *Spool) ID() (id string, base int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.id, s.state.base
}

// Last returns the newest number, zero without events.
func (s *Spool) Last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next - 1
}

// Acked returns the newest acknowledged number.
func (s *Spool) Acked() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.acked
}

// DiskError returns the error of the last write while the disk rejects writes, else nil.
func (s *Spool) DiskError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.diskErr
}

// Rename gives the spool a new ID, under which unacknowledged events are numbered from 1. Rename is for a server whose
// numbers differ from those of the spool. No event is lost.
func (s *Spool) Rename() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rename()
	return s.writeState()
}

func (s *Spool) rename() {
	s.state.id, s.state.base = newID(), s.state.acked
}

// Ack records that the API has stored all events up to n, and removes their segments.
func (s *Spool) Ack(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(n, s.next-1)
	if n <= s.state.acked {
		return nil
	}
	s.state.acked = n
	for len(s.mem) > 0 && s.mem[0].N <= n {
		s.memBytes -= int64(len(s.mem[0].Body))
		s.mem = s.mem[1:]
	}
	err := s.writeState()
	s.trim()
	return err
}

// Rewind takes acknowledgements back to n, for a server that has lost events. Rewind fails if the events after n are no
// longer stored.
func (s *Spool) Rewind(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= s.state.acked || n < s.state.base {
		return errors.New("no earlier event to rewind to")
	}
	if s.segs[0].first > n+1 {
		return errors.New("the events are no longer stored")
	}
	s.state.acked = n
	return s.writeState()
}

// trim removes completely acknowledged segments, except the last one.
func (s *Spool) trim() {
	for len(s.segs) > 1 && s.segs[0].last <= s.state.acked {
		_ = os.Remove(s.segs[0].path) // the next start retries
		s.segs = s.segs[1:]
	}
}

// Sync makes the appended events survive a crash of the machine. Sync is called before a number is sent, so that no
// number is used for two events.
func (s *Spool) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.segs[len(s.segs)-1].last
	if s.synced >= last {
		return nil
	}
	if err := s.w.Sync(); err != nil {
		return fmt.Errorf("sync spool: %w", err)
	}
	s.synced = last
	return nil
}

// Close closes the spool. Its events stay.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock != nil {
		unlock(s.lock)
	}
	for _, f := range []*os.File{s.w, s.stateF, s.cur.file, s.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
	s.w, s.stateF, s.lock, s.cur = nil, nil, nil, cursor{}
	return nil
}

func (s *Spool) writeState() error {
	if _, err := s.stateF.WriteAt(s.state.encode(), 0); err != nil {
		return fmt.Errorf("write spool state: %w", err)
	}
	return nil
}
