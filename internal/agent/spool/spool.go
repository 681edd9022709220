// Package spool keeps numbered events on disk until the API has acknowledged them. It survives a restart and a torn
// tail. If the disk is full, it continues in memory within limits. Numbers have no gaps: an event that is not accepted
// gets none.
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

// ErrFull is returned for an event that may be left out, when there is no room for it.
var ErrFull = errors.New("the spool is full")

// ErrLocked is returned when another process writes this spool.
var ErrLocked = errors.New("the spool is in use by another process")

// Defaults of [Config].
const (
	DefaultLimit    = 256 << 20
	DefaultMemory   = 4 << 20
	maxSegmentBytes = 4 << 20
	minSegmentBytes = 4 << 10
)

// Config bounds a spool.
type Config struct {
	Limit  int64 // bytes on disk; zero is 256 MiB
	Memory int64 // bytes in memory while the disk refuses writes; zero is 4 MiB
	// Retry is how often a refusing disk is tried again; zero is 1 s.
	Retry time.Duration
	// Clock is [Clock], but in tests.
	Clock func() time.Duration
}

type segment struct {
	path        string
	first, last int64 // last is first-1 while it is empty
	size        int64
}

// Spool is an open spool. It is safe for concurrent use.
type Spool struct {
	mu       sync.Mutex
	cfg      Config
	dir      string
	lock     *os.File
	stateF   *os.File
	state    state
	segs     []segment
	w        *os.File // the last segment
	next     int64
	synced   int64
	mem      []Record // numbers after those on disk, while the disk refuses writes
	memBytes int64
	retryAt  time.Time
	diskErr  error
	cur      cursor
	damaged  int64
}

// Open makes or recovers the spool in dir and locks it against other processes.
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

// Damaged returns how many lines were cut off by opening, because they or one before them were unreadable.
func (s *Spool) Damaged() int64 { return s.damaged }

// ID returns the spool's present name on the wire and the number that stands before its first.
func (s *Spool) ID() (id string, base int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.id, s.state.base
}

// Last returns the newest number, zero if there is none.
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

// DiskError returns why the disk refuses writes, nil if it does not.
func (s *Spool) DiskError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.diskErr
}

// Rename gives the spool a new id: unacknowledged events are numbered from 1 under it. It is
// for a server whose numbers no longer agree with ours; nothing is lost by it.
func (s *Spool) Rename() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rename()
	return s.writeState()
}

func (s *Spool) rename() {
	s.state.id, s.state.base = newID(), s.state.acked
}

// Ack records that everything up to n is stored and lets go of it.
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

// Rewind takes acknowledgements back to n, for a server that lost what it had stored. It
// fails if what follows n is no longer kept.
func (s *Spool) Rewind(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= s.state.acked || n < s.state.base {
		return errors.New("nothing to rewind to")
	}
	if s.segs[0].first > n+1 {
		return errors.New("those events are no longer kept")
	}
	s.state.acked = n
	return s.writeState()
}

// trim removes the segments that are acknowledged as a whole, except the one that is written.
func (s *Spool) trim() {
	for len(s.segs) > 1 && s.segs[0].last <= s.state.acked {
		_ = os.Remove(s.segs[0].path) // tried again by the next start
		s.segs = s.segs[1:]
	}
}

// Sync makes what was appended survive a crash of the machine. It is called before a number
// leaves the process, so that no number is ever used for two events.
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

// Close releases the spool; its content stays.
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
