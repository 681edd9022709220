package review

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// Limits of the copies that a process holds.
const (
	maxCopies = 16
	maxBytes  = 4 << 30
	idleTime  = 10 * time.Minute // after which a copy is removed
)

// Service compares files. It is safe for concurrent use.
type Service struct {
	store   Store
	hosts   scm.Hosts
	scratch *tempdir.Dir
	fetches int64 // maximum bytes of commits of a repository

	mu     sync.Mutex
	copies map[string]*objects // by task
}

// New returns a service that keeps its copies below scratch.
func New(store Store, hosts scm.Hosts, scratch *tempdir.Dir) *Service {
	return &Service{store: store, hosts: hosts, scratch: scratch, fetches: maxFetch, copies: map[string]*objects{}}
}

// use calls do with a repository that has the objects of all points. One caller at a time uses the repository of a task.
func (s *Service) use(ctx context.Context, t task.Task, points []Point, do func(*objects) error) error {
	o, err := s.acquire(ctx, t.ID)
	if err != nil {
		return err
	}
	defer s.release(o)
	if err := o.begin(ctx, s.scratch, points); err != nil {
		return err
	}
	w := work{Service: s, objects: o, task: t}
	if err := w.bring(ctx, points); err != nil {
		o.removePartial()
		return err
	}
	return do(o)
}

// acquire returns the repository of a task, which no other caller uses until release.
func (s *Service) acquire(ctx context.Context, taskID string) (*objects, error) {
	for {
		o, err := s.find(taskID)
		if err != nil {
			return nil, err
		}
		select {
		case o.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !o.removed {
			o.idle.Stop()
			return o, nil
		}
		<-o.turn // another call removed the copy while this caller waited
	}
}

func (s *Service) find(taskID string) (*objects, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.copies[taskID]; o != nil {
		return o, nil
	}
	if len(s.copies) >= maxCopies && !s.dropOldest() {
		return nil, task.Errorf(task.CodeUnavailable, "Too many tasks are being compared. Next: repeat the request in a few seconds").WithKind(task.KindOverloaded)
	}
	o := &objects{turn: make(chan struct{}, 1)}
	o.idle = time.AfterFunc(idleTime, func() { s.expire(taskID, o) })
	s.copies[taskID] = o
	return o, nil
}

// release ends the use of a copy, and removes other copies if all together are too large.
func (s *Service) release(o *objects) {
	o.measure()
	o.used.Store(time.Now().UnixNano())
	o.idle.Reset(idleTime)
	<-o.turn
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes() > maxBytes && s.dropOldest() {
	}
}

func (s *Service) bytes() (sum int64) {
	for _, o := range s.copies {
		sum += o.bytes.Load()
	}
	return sum
}

// expire removes a copy that nobody used for a while.
func (s *Service) expire(taskID string, o *objects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(taskID, o)
}

// dropOldest removes the copy that is unused for the longest time, and reports whether there was one. The caller holds the lock.
func (s *Service) dropOldest() bool {
	byAge := slices.SortedFunc(maps.Keys(s.copies), func(a, b string) int { return cmp.Compare(s.copies[a].used.Load(), s.copies[b].used.Load()) })
	return slices.ContainsFunc(byAge, func(id string) bool { return s.drop(id, s.copies[id]) })
}

// drop removes a copy unless it is in use. The caller holds the lock.
func (s *Service) drop(taskID string, o *objects) bool {
	select {
	case o.turn <- struct{}{}:
	default:
		return false
	}
	defer func() { <-o.turn }()
	o.idle.Stop()
	o.removed = true
	delete(s.copies, taskID)
	_ = os.RemoveAll(o.dir)
	return true
}
