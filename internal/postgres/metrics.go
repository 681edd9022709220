package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/omoi-dev/omoi/internal/task"
)

// Counter is told what the store has written, after its commit. What a crash hides between
// commit and count is missing from the counts and from nothing else.
type Counter interface {
	TaskEnded(outcome task.Status, class task.FailureClass)
	AttemptBegun(kind string)
	AttemptEnded(outcome string, class task.FailureClass)
}

// noCounter is for stores that nobody watches.
type noCounter struct{}

func (noCounter) TaskEnded(task.Status, task.FailureClass) {}
func (noCounter) AttemptBegun(string)                      {}
func (noCounter) AttemptEnded(string, task.FailureClass)   {}

// State is what the installation looks like at one moment.
type State struct {
	Tasks       map[string]int64     // that have not ended, by status; every such status is there
	Waiting     int64                // for a slot
	Slots       int64                // held
	Alive       map[string]int64     // sandboxes by provider
	Unverified  map[string]int64     // sandboxes by provider whose attempt is over and that are not verified gone
	RelayLag    time.Duration        // age of the oldest due command or admission; 0: none
	EventLag    time.Duration        // age of the oldest due events; 0: none
	LastSuccess map[string]time.Time // end of the last pass of reaper, of the last cycle of guardian and conductor; none before the first
}

// State counts through partial indexes, so that it costs little however much has ended.
func (s *Store) State(ctx context.Context) (State, error) {
	lags, err := s.q.Lags(ctx)
	if err != nil {
		return State{}, translate("read what is due", err)
	}
	out := State{
		Tasks: map[string]int64{}, Alive: map[string]int64{}, Unverified: map[string]int64{},
		Waiting: lags.Waiting, Slots: lags.Slots, RelayLag: age(lags.RelayLag), EventLag: age(lags.EventLag),
		LastSuccess: map[string]time.Time{},
	}
	beats, err := s.q.LastSuccesses(ctx)
	if err != nil {
		return State{}, translate("read when components last succeeded", err)
	}
	for _, beat := range beats {
		out.LastSuccess[beat.Part] = beat.At
	}
	tasks, err := s.q.OpenTaskCounts(ctx)
	if err != nil {
		return State{}, translate("count tasks", err)
	}
	for _, status := range task.Statuses() {
		if !status.Final() {
			out.Tasks[string(status)] = 0
		}
	}
	for _, row := range tasks {
		out.Tasks[row.Status] = row.Tasks
	}
	boxes, err := s.q.SandboxCounts(ctx)
	for _, row := range boxes {
		out.Alive[row.Provider], out.Unverified[row.Provider] = row.Alive, row.Unverified
	}
	return out, translate("count sandboxes", err)
}

// PoolUse is how the connections of this process are used.
type PoolUse struct {
	Used, Idle, Max int32
	Acquires, Waits int64
	Waited          time.Duration // of all waits together
	DiskFull        bool          // the last write that was looked at found the disk full
}

// PoolUse asks the pools, not the database: that of the intake counts once it is open.
func (s *Store) PoolUse() (sum PoolUse) {
	sum.DiskFull = s.DiskFull()
	sum.add(s.pool.Stat())
	if commits := s.opened.Load(); commits != nil {
		sum.add(commits.Stat())
	}
	return sum
}

func (u *PoolUse) add(stat *pgxpool.Stat) {
	u.Used, u.Idle, u.Max = u.Used+stat.AcquiredConns(), u.Idle+stat.IdleConns(), u.Max+stat.MaxConns()
	u.Acquires, u.Waits = u.Acquires+stat.AcquireCount(), u.Waits+stat.EmptyAcquireCount()
	u.Waited += stat.EmptyAcquireWaitTime()
}
