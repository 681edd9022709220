package activities

import (
	"context"
	"io"
	"time"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// Tasks is the part of the store for the life of a task. runID is the Temporal run of the caller and fences each write.
type Tasks interface {
	Branches
	Reports

	LoadTask(ctx context.Context, ref contract.TaskRef, runID string) (contract.LoadedTask, error)
	// SaveTaskState writes p unless the row holds a later projection. If another run wrote last, it writes only if
	// current reports that Temporal has runID as the current run.
	SaveTaskState(ctx context.Context, p contract.Projection, runID string, current func(context.Context) (bool, error)) (contract.Projected, error)
	BeginAttempt(ctx context.Context, in contract.BeginAttemptInput, runID string) (contract.BeginAttemptResult, error)
	LoadCommand(ctx context.Context, in contract.LoadCommandInput, runID string) (contract.LoadedCommand, error)
	// Work returns the task as Git and the agent need it, with the feedback of its running attempt.
	Work(ctx context.Context, taskID string) (task.Work, error)
	// EarlierCheckpoints returns the checkpoints with which an attempt begins. A validator has none.
	EarlierCheckpoints(ctx context.Context, taskID string, attempt int) (checkpoint.Origin, error)
	// RunTranscript returns the transcript of a run of the task, if any is kept.
	RunTranscript(ctx context.Context, taskID, runID string) (transcript.Info, bool, error)
	// EarlierTranscript returns the newest transcript of an earlier attempt, if any.
	EarlierTranscript(ctx context.Context, taskID string, attempt int) (transcript.Info, bool, error)
	// Story returns how the task was done so far, for its pull request.
	Story(ctx context.Context, organizationID, taskID string) (receipt.PullRequestData, error)
	// Unpublished returns the saved commits of the newest attempt whose push failed.
	Unpublished(ctx context.Context, taskID string) (task.Unpublished, error)
}

// Reports is the part of the store for what an agent reported.
type Reports interface {
	LoadEvents(ctx context.Context, in contract.LoadEventsInput) (contract.Digest, error)
	// EmptyRun reports whether the end that an agent reported has an account of its run, as those of legacy workers have,
	// and neither that end nor another event shows work.
	EmptyRun(ctx context.Context, sandboxID string) (bool, error)
}

// Texts is the part of the store for long texts, which histories hold by ID only, and for reasons that users read.
type Texts interface {
	SaveText(ctx context.Context, taskID, kind, content string) (id string, err error)
	// SaveBase64 is SaveText for content that does not fit into memory. content must be base64 from this process.
	SaveBase64(ctx context.Context, taskID, kind string, content io.Reader) (id string, err error)
	// SavedPiece returns piece number n of saved work, counted from 0; empty after the last one.
	SavedPiece(ctx context.Context, taskID, textID string, piece int) ([]byte, error)
	// NoteDoubt records why the last check of a running attempt was inconclusive; the zero reason clears it.
	NoteDoubt(ctx context.Context, sandboxID string, reason task.Reason) error
	// NoteTrouble records why a step of a task is retried; the zero reason clears it.
	NoteTrouble(ctx context.Context, taskID string, reason task.Reason) error
}

// Ledger is the part of the store that records sandboxes.
type Ledger interface {
	Signs

	LedgerSandbox(ctx context.Context, sandboxID string) (task.Sandbox, error)
	// RanOut counts the earlier attempts of a task that failed for lack of memory or disk.
	RanOut(ctx context.Context, taskID string, before int) (int, error)
	// SandboxCreating records that a create call starts, and the transport of the sandbox's agent; see [task.Sandbox].
	SandboxCreating(ctx context.Context, sandboxID, transport string) error
	// SandboxPlaced records the provider ID of a sandbox that is still to be created, unless one is recorded.
	SandboxPlaced(ctx context.Context, sandboxID, providerID string) error
	SandboxRunning(ctx context.Context, sandboxID string, made sandbox.Sandbox) error
	// SandboxSeen records that a sandbox exists although no create call was confirmed, or although an absence check had
	// succeeded. since is zero if the provider reports no creation time.
	SandboxSeen(ctx context.Context, sandboxID, providerID string, since time.Time) error
	AgentStarted(ctx context.Context, sandboxID string) error
	// RecordSandboxState advances the ledger row, never back: deleting, gone, verified, lost, and read, which means
	// that the spool was read to its end.
	RecordSandboxState(ctx context.Context, s contract.RecordSandboxStateInput) error
	// SandboxUnmade closes the row of a sandbox whose creation never started, and reports whether the row was one.
	SandboxUnmade(ctx context.Context, sandboxID string) (bool, error)
	SaveSalvage(ctx context.Context, sandboxID string, s task.Salvage) error
	SaveHead(ctx context.Context, taskID string, attempt int, commit string) error
}

// Signs is the part of the store for the signs of life of an attempt.
type Signs interface {
	// Pulse returns the signs of life of an attempt, and outages of ingest and relay within window.
	Pulse(ctx context.Context, sandboxID string, window time.Duration) (task.Pulse, error)
	// FrozenTime returns how long a sandbox was frozen since its attempt was assigned.
	FrozenTime(ctx context.Context, sandboxID string) (time.Duration, error)
}

// Fleet is the part of the store that finds orphans.
type Fleet interface {
	Installation(ctx context.Context) (string, error)
	// Targets returns the providers to visit: those of each online host, and the shared ones.
	Targets(ctx context.Context) ([]contract.ReaperTarget, error)
	// LedgerOrphans returns rows without verified deletion that have belonged to no running attempt for the grace
	// period.
	LedgerOrphans(ctx context.Context, grace time.Duration) ([]contract.Orphan, error)
	// Unowned returns the listed sandboxes that have belonged to no running attempt for the grace period.
	Unowned(ctx context.Context, listed []sandbox.Sandbox, grace time.Duration) ([]contract.Orphan, error)
	// Found records that a host holds listed sandboxes that the ledger has as lost or on an offline host.
	Found(ctx context.Context, hostID string, listed []sandbox.Sandbox) error
	// Adopt writes rows for listed sandboxes that the ledger does not know, so that they can be cleaned up. hostID is
	// empty for a provider that is not bound to a host.
	Adopt(ctx context.Context, provider, hostID string, listed []sandbox.Sandbox) error
	// EndStrays ends open attempts whose task has ended or has a later attempt.
	EndStrays(ctx context.Context) error
	// MarkReappeared records that a sandbox exists again after its deletion was verified. since is zero if the provider
	// reports no creation time.
	MarkReappeared(ctx context.Context, sandboxID, providerID string, since time.Time) error
	// CountReappeared counts the sandboxes that exist again after their deletion was verified, and returns the ID of
	// one.
	CountReappeared(ctx context.Context) (n int, id string, err error)
	// Overdue counts the sandboxes whose deletion is unverified longer than age after their end.
	Overdue(ctx context.Context, age time.Duration) (n int, oldest time.Duration, err error)
	// SetAlert raises an alert; an empty text clears it.
	SetAlert(ctx context.Context, source, text string) error
}

// Reconciler is the part of the store that reconciles tasks with Temporal and pauses the reaper.
type Reconciler interface {
	// OpenTasks returns the IDs of open tasks that have a run and were not written within age, and of tasks whose start
	// or retry was sent longer than age ago without effect.
	OpenTasks(ctx context.Context, age time.Duration) ([]string, error)
	// Abandon fails a task whose workflow is closed: failure class terminated, slot released, attempt ended.
	Abandon(ctx context.Context, taskID, reason string) error
	// Leftovers returns the sandboxes of a task without a successful absence check.
	Leftovers(ctx context.Context, taskID string) ([]contract.Orphan, error)
	Grant(ctx context.Context) error // runs admission once for each organization
	// IsIdle reports whether every task is final, every deletion is verified, and no late sandbox can appear.
	IsIdle(ctx context.Context) (bool, error)
	// SetReaperRests records whether the reaper's schedule is paused, for callers that start a task.
	SetReaperRests(ctx context.Context, rests bool) error
}

// Runs is the part of Temporal that activities use.
type Runs interface {
	// CurrentRun returns the newest run of a task's workflow and whether it is open.
	CurrentRun(ctx context.Context, taskID string) (runID string, open bool, err error)
	// StartCleanup starts the cleanup workflow of a sandbox. It succeeds if the workflow is already open.
	StartCleanup(ctx context.Context, in contract.CleanupInput) error
	PauseSchedule(ctx context.Context, id, note string) error
	// SignalCheck asks a task's workflow to check a sandbox that seems to have ended.
	SignalCheck(ctx context.Context, taskID string, in contract.CheckSignal) error
	// WakeReaper unpauses the reaper's schedule and triggers it.
	WakeReaper(ctx context.Context) error
}

// Providers finds a sandbox provider by name.
type Providers interface {
	Provider(name string) (sandbox.Provider, error)
}

// Credentials finds the environment variables with the credentials of a sandbox. An error with [task.CodeNotFound]
// names the missing credential and the next step.
type Credentials interface {
	ForTask(ctx context.Context, work task.Work) (map[string]string, error)
	// Give is ForTask and records the use.
	Give(ctx context.Context, work task.Work) (map[string]string, error)
}

// Logs stores sandbox logs.
type Logs interface {
	Keep(ctx context.Context, p sandbox.Provider, labels sandbox.Labels) error
}

// Git returns the Git host of a repository.
type Git interface {
	For(repo string, who scm.Owner) (scm.Host, error)
}
