package ingest

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
)

// Runs is the part of Temporal that the relay needs. Errors tell by their code what became
// of a call: task.CodeGone, the workflow has ended; task.CodeNotFound, there is none;
// task.CodeConflict, a retry whose run before is still open; task.CodeInvalid, it will never be
// taken. Everything else is tried again later.
type Runs interface {
	StartTask(ctx context.Context, in contract.TaskInput, retry bool) error
	SignalCommand(ctx context.Context, taskID string, c contract.Command) error
	SignalAdmitted(ctx context.Context, taskID string) error
	SignalDigest(ctx context.Context, taskID string, d contract.Digest) error
	// StartCleanup starts the cleanup of a sandbox; one that runs or ran well is success.
	StartCleanup(ctx context.Context, in contract.CleanupInput) error
	// WakeReaper ends the rest of the reaper's schedule and triggers it.
	WakeReaper(ctx context.Context) error
	// Check reports whether Temporal answers.
	Check(ctx context.Context) error
}

// RelayStore is the part of the store that the relay needs.
type RelayStore interface {
	Pulse
	RelayLeases
	RelayContents
}

// RelayLeases decides whose turn it is and who sends.
type RelayLeases interface {
	// LeaseRelays leases at most limit tasks that have something due and that nobody has leased.
	LeaseRelays(ctx context.Context, owner string, limit int, p Pace) ([]Unit, error)
	// SettleRelay gives a unit back, unless its lease is lost, and reports whether something is due at once.
	SettleRelay(ctx context.Context, u Unit, s Settled, p Pace) (again bool, err error)
	// EndRelayPauses makes tasks due that pause after a failure.
	EndRelayPauses(ctx context.Context) error
	// ListenRelays calls wake when another process has made something due, until ctx ends.
	ListenRelays(ctx context.Context, wake func()) error
	// SweepEvents forgets to relay events of sandboxes that no task looks at any more.
	SweepEvents(ctx context.Context) error
}

// RelayContents is what there is to send.
type RelayContents interface {
	// RelayCommands are the commands of a task that were not sent, in their order.
	RelayCommands(ctx context.Context, taskID string) ([]RelayCommand, error)
	// CommandSent and CommandOver note what became of one.
	CommandSent(ctx context.Context, id string) error
	CommandOver(ctx context.Context, id, state, reason string) error
	// StartRefused writes off a task that cannot be started, unless it is final, and refuses the command.
	StartRefused(ctx context.Context, taskID, commandID, reason string) error
	// RunEnded notes that c met no open run: a task that is open is written off as terminated and c
	// is too late; a retry stays due, and goes out as a start.
	RunEnded(ctx context.Context, taskID string, c RelayCommand) error
	// LeftSandboxes are those of the task's ended attempts that nobody has seen to be gone.
	LeftSandboxes(ctx context.Context, taskID string, wait time.Duration) ([]LeftSandbox, error)
	// EndReaperRest takes the note that the reaper rests; rested is true for one who asks alone.
	EndReaperRest(ctx context.Context) (rested bool, err error)
	SetReaperRests(ctx context.Context, rests bool) error
	// SlotGranted is when the task's slot was granted; held is false if it has none.
	SlotGranted(ctx context.Context, taskID string) (at time.Time, held bool, err error)
	// TakeDigest is the digest of all events of the unit's sandbox that were not relayed; ok is
	// false if none are due.
	TakeDigest(ctx context.Context, u Unit) (due DueDigest, ok bool, err error)
	// DigestSent notes that a digest has arrived; DigestFailed that it is due again after pause.
	DigestSent(ctx context.Context, d DueDigest) error
	DigestFailed(ctx context.Context, sandboxID string, pause time.Duration) error
}

// Pace is how fast one task is told of its events, and how long a lease lasts.
type Pace struct {
	Lease  time.Duration // after which another relay takes a task over; default 30 s, several times the limit of a call to Temporal
	Burst  float64       // milestones that go at once; default 3
	Rate   float64       // more of them, a second; default 1
	Many   int           // digests in Window, beyond which there is one per Slow; default 300
	Window time.Duration // default 10 min
	Slow   time.Duration // default 10 s
}

// Unit is a task whose turn it is, leased by Owner.
type Unit struct {
	TaskID    string
	SandboxID string // of the current attempt; empty if there is none
	Owner     string
	Admit     bool // a granted slot is to be signalled
	Failures  int  // tries in a row that came to nothing
	Crashed   bool // the relay that had it died
	Room      bool // the bucket has room for a digest
}

// RelayCommand is a command that was not sent.
type RelayCommand struct {
	ID      string
	Kind    string
	Claimed bool      // a run has taken it up: its start has arrived
	Final   bool      // the task has ended, so that a retry is a new run
	At      time.Time // when it was accepted
	Title   string    // key and title of the task
	Trace   string    // W3C traceparent of the request that asked; empty: it was not traced
}

// LeftSandbox is what an attempt that is over has left.
type LeftSandbox struct {
	contract.CleanupInput
	Recent bool // the attempt has not been over for the asked time
}

// DueDigest is a digest and what the store has to remember of it.
type DueDigest struct {
	contract.Digest
	Types map[string]int64 // events 1..To by type
}

// Settled is how a unit went.
type Settled struct {
	Failures  int
	Error     string        // what an operator should know; empty if all is well
	Pause     time.Duration // nobody tries before it is over
	Hold      time.Duration // commands that are left wait for so long
	Told      bool          // the workflow knows of the slot that was granted at GrantedAt
	GrantedAt time.Time     // zero: the task held none
	Digest    bool          // a digest was sent
	Token     bool          // it carried milestones
}
