package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// Counter counts what the store has written, after the commit. A crash between commit and count loses the count only.
type Counter interface {
	TaskEnded(outcome task.Status, class task.FailureClass)
	AttemptBegun(kind string)
	AttemptEnded(outcome string, class task.FailureClass)
	// CheckpointStored counts a checkpoint by its pack, and the changes in it that only a scan of all files found.
	CheckpointStored(packBytes, foundByScan int64)
	CheckpointFailed(reason string) // one of CheckpointFailures
}

// Reasons of [Counter.CheckpointFailed].
const (
	UploadConflict = "conflict"     // the sender has another pack or base than the API, or a newer attempt exists
	UploadLimit    = "limit"        // a pack or all packs of a task have too many bytes
	UploadFailed   = "database"     // the database could not store what was sent
	PackNotMoved   = "object_store" // the pack stays in the database for now
	PackUnreadable = "unreadable"   // a stored pack could not be read
)

// CheckpointFailures returns all reasons of failures with checkpoints.
func CheckpointFailures() []string {
	return []string{UploadConflict, UploadLimit, UploadFailed, PackNotMoved, PackUnreadable, ingest.CheckpointInSandbox}
}

// noCounter is the default Counter.
type noCounter struct{}

func (noCounter) TaskEnded(task.Status, task.FailureClass) {}
func (noCounter) AttemptBegun(string)                      {}
func (noCounter) AttemptEnded(string, task.FailureClass)   {}
func (noCounter) CheckpointStored(_, _ int64)              {}
func (noCounter) CheckpointFailed(string)                  {}

// State holds the gauges of the installation.
type State struct {
	Tasks      map[string]int64 // tasks that have not ended, by status; contains each such status
	Waiting    int64            // tasks waiting for a slot
	Slots      int64            // held slots
	Alive      map[string]int64 // existing sandboxes by provider
	Unverified map[string]int64 // sandboxes by provider whose attempt has ended and whose deletion is not verified
	RelayLag   time.Duration    // age of the oldest due command or admission; 0: none
	EventLag   time.Duration    // age of the oldest due events; 0: none
	// Checkpoints is the age of the newest checkpoint of the running attempt where this age is the highest; 0: none has a checkpoint.
	Checkpoints time.Duration
	PackBytes   map[string]int64 // stored packs: database (the size of the tables), objects, and those of objects that are unreadable without checkpoint.store
	// LastSuccess holds the end of the last pass of the reaper and of the last cycles of guardian and conductor; no entry
	// before the first.
	LastSuccess map[string]time.Time
}

// State reads partial indexes, so that its cost does not grow with ended tasks. Only the bytes of objects are a sum of all.
func (s *Store) State(ctx context.Context) (State, error) {
	lags, err := s.q.Lags(ctx)
	if err != nil {
		return State{}, translate("read the lag of the relay", err)
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
	packs, err := s.q.CheckpointState(ctx)
	if err != nil {
		return State{}, translate("measure checkpoints", err)
	}
	out.Checkpoints, out.PackBytes = age(packs.Oldest), map[string]int64{"database": packs.InDatabase, "objects": packs.InObjects, "unreadable": 0}
	if s.cfg.Packs == nil {
		out.PackBytes["unreadable"] = packs.InObjects
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

// PoolUse describes the database connections of this process.
type PoolUse struct {
	Used, Idle, Max int32
	Acquires, Waits int64
	Waited          time.Duration // total of all waits
	DiskFull        bool          // the last checked write found the disk full
}

// PoolUse returns the statistics of the pools without a query. The pool of ingest is included once it is open.
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
