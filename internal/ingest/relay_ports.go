package ingest

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
)

// Runs is the part of Temporal that the relay needs. The code of an error tells the outcome of a call: task.CodeGone,
// the workflow has ended; task.CodeNotFound, there is none; task.CodeConflict, a retry while the previous run is open;
// task.CodeInvalid, the call will never succeed. Every other error is retried later.
type Runs interface {
	StartTask(ctx context.Context, in contract.TaskInput, retry bool) error
	SignalCommand(ctx context.Context, taskID string, c contract.Command) error
	SignalAdmitted(ctx context.Context, taskID string) error
	SignalDigest(ctx context.Context, taskID string, d contract.Digest) error
	// StartCleanup starts the cleanup of a sandbox. It succeeds if the cleanup runs or has completed.
	StartCleanup(ctx context.Context, in contract.CleanupInput) error
	// WakeReaper resumes the idle schedule of the reaper and triggers it.
	WakeReaper(ctx context.Context) error
	// Check returns nil if Temporal responds.
	Check(ctx context.Context) error
}

// RelayStore is the part of the store that the relay needs.
type RelayStore interface {
	Pulse
	RelayLeases
	RelayContents
}

// RelayLeases decides which tasks are due and which relay sends.
type RelayLeases interface {
	// LeaseRelays leases at most limit tasks that are due and not leased.
	LeaseRelays(ctx context.Context, owner string, limit int, p Pace) ([]Unit, error)
	// SettleRelay returns a unit, unless its lease is lost, and reports whether more is due at once.
	SettleRelay(ctx context.Context, u Unit, s Settled, p Pace) (again bool, err error)
	// EndRelayPauses makes the tasks due that pause after a failure.
	EndRelayPauses(ctx context.Context) error
	// ListenRelays calls wake when another process has made a task due, until ctx ends.
	ListenRelays(ctx context.Context, wake func()) error
	// SweepEvents drops undelivered events of sandboxes that no task observes any more.
	SweepEvents(ctx context.Context) error
}

// RelayContents reads and records what is sent.
type RelayContents interface {
	// RelayCommands returns the unsent commands of a task in their order.
	RelayCommands(ctx context.Context, taskID string) ([]RelayCommand, error)
	// CommandSent and CommandOver record the outcome of a command.
	CommandSent(ctx context.Context, id string) error
	CommandOver(ctx context.Context, id, state, reason string) error
	// StartRefused closes a task that cannot be started, unless it is final, and rejects the command.
	StartRefused(ctx context.Context, taskID, commandID, reason string) error
	// RunEnded records that c met no open run. An open task is closed as terminated and c is too late; a retry stays
	// due and is sent as a start.
	RunEnded(ctx context.Context, taskID string, c RelayCommand) error
	// LeftSandboxes returns the sandboxes of the task's ended attempts whose deletion is not confirmed.
	LeftSandboxes(ctx context.Context, taskID string, wait time.Duration) ([]LeftSandbox, error)
	// EndReaperRest clears the note that the reaper is idle; rested is true for one caller only.
	EndReaperRest(ctx context.Context) (rested bool, err error)
	SetReaperRests(ctx context.Context, rests bool) error
	// SlotGranted returns when the task's slot was granted; held is false if it has none.
	SlotGranted(ctx context.Context, taskID string) (at time.Time, held bool, err error)
	// TakeDigest returns the digest of all events of the unit's sandbox that were not relayed; ok is false if none are
	// due.
	TakeDigest(ctx context.Context, u Unit) (due DueDigest, ok bool, err error)
	// DigestSent records that a digest was delivered, DigestFailed that it is due again after pause.
	DigestSent(ctx context.Context, d DueDigest) error
	DigestFailed(ctx context.Context, sandboxID string, pause time.Duration) error
}

// Pace limits the rate of one task's digests, and holds the duration of a lease.
type Pace struct {
	Lease  time.Duration // after which another relay takes over a task; default 30 s
	Burst  float64       // milestones that are sent at once; default 3
	Rate   float64       // further milestones per second; default 1
	Many   int           // digests in Window, beyond which one is sent per Slow; default 300
	Window time.Duration // default 10 min
	Slow   time.Duration // default 10 s
}

// Unit is a due task, leased by Owner.
type Unit struct {
	TaskID    string
	SandboxID string // of the current attempt; empty if there is none
	Owner     string
	Admit     bool // a granted slot is due to be signalled
	Failures  int  // consecutive failures
	Crashed   bool // the previous relay with the lease died
	Room      bool // the rate limit permits a digest
}

// RelayCommand is an unsent command.
type RelayCommand struct {
	ID      string
	Kind    string
	Claimed bool // a run has loaded the command: its start has arrived
	Final   bool // the task has ended, so that a retry is a new run
	// Checkpoint makes a retry a rewind, of a completed task too.
	Checkpoint string
	At         time.Time // when it was accepted
	Title      string    // key and title of the task
	Trace      string    // W3C traceparent of the request; empty: not traced
}

// LeftSandbox is the sandbox of an ended attempt.
type LeftSandbox struct {
	contract.CleanupInput
	Recent bool // the attempt ended less than the given time ago
}

// DueDigest is a digest and what the store must record about it.
type DueDigest struct {
	contract.Digest
	Types map[string]int64 // events 1..To by type
}

// Settled is the result of serving a unit.
type Settled struct {
	Failures  int
	Error     string        // for operators; empty: no error
	Pause     time.Duration // no relay retries before it is over
	Hold      time.Duration // how long the remaining commands wait
	Told      bool          // the workflow knows of the slot that was granted at GrantedAt
	GrantedAt time.Time     // zero: the task held none
	Digest    bool          // a digest was sent
	Token     bool          // the digest carried milestones
}
