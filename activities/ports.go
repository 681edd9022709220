package activities

import (
	"context"
	"io"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// Tasks is the part of the store that the life of a task needs. runID is the caller's
// Temporal run; a method that writes is fenced by it.
type Tasks interface {
	LoadTask(ctx context.Context, ref contract.TaskRef, runID string) (contract.LoadedTask, error)
	// Project writes p unless a later projection stands. Where another run wrote last it
	// gives way only if current answers true: Temporal names runID as the current run.
	SaveTaskState(ctx context.Context, p contract.Projection, runID string, current func(context.Context) (bool, error)) (contract.Projected, error)
	BeginAttempt(ctx context.Context, in contract.BeginAttemptInput, runID string) (contract.BeginAttemptResult, error)
	LoadCommand(ctx context.Context, in contract.LoadCommandInput, runID string) (contract.LoadedCommand, error)
	LoadEvents(ctx context.Context, in contract.LoadEventsInput) (contract.Digest, error)
	// Work describes the task for git and agent; feedback is that of its live attempt.
	Work(ctx context.Context, taskID string) (task.Work, error)
	// EarlierTranscript is the newest transcript that an attempt before this one left, if there is one.
	EarlierTranscript(ctx context.Context, taskID string, attempt int) (transcript.Info, bool, error)
	// Story tells how a task was done so far.
	Story(ctx context.Context, organizationID, taskID string) (receipt.PullRequestData, error)
	// Unpublished is what the newest attempt committed and could not push, as far as it was rescued.
	Unpublished(ctx context.Context, taskID string) (task.Unpublished, error)
	// SaveBranch notes the task's branch and where it began; what is noted already stays.
	SaveBranch(ctx context.Context, taskID, branch, base string) error
}

// Texts is the part of the store that keeps long texts out of histories, by their IDs, and what people read while nothing moves.
type Texts interface {
	SaveText(ctx context.Context, taskID, kind, content string) (id string, err error)
	// SaveBase64 is SaveText of what is too large to be held at a time. content is base64 and comes from this machine.
	SaveBase64(ctx context.Context, taskID, kind string, content io.Reader) (id string, err error)
	// SavedPiece returns a piece of stored work, as it was in the sandbox, counted from 0; an empty one is behind the end.
	SavedPiece(ctx context.Context, taskID, textID string, piece int) ([]byte, error)
	// NoteDoubt writes what the last check of a live attempt could not determine; empty: all is well.
	NoteDoubt(ctx context.Context, sandboxID string, reason task.Reason) error
	// NoteTrouble writes why a task waits for a step that is retried; empty: it no longer does.
	NoteTrouble(ctx context.Context, taskID string, reason task.Reason) error
}

// Ledger is the part of the store that accounts for sandboxes.
type Ledger interface {
	LedgerSandbox(ctx context.Context, sandboxID string) (task.Sandbox, error)
	// RanOut counts the attempts of a task before this one that failed for want of memory or disk.
	RanOut(ctx context.Context, taskID string, before int) (int, error)
	// SandboxCreating notes that it is being made, and by which [task.Sandbox] transport its agent will report.
	SandboxCreating(ctx context.Context, sandboxID, transport string) error
	SandboxRunning(ctx context.Context, sandboxID string, made sandbox.Sandbox) error
	// SandboxSeen notes that a look found it there, though nobody wrote that it was made, or though
	// it had been seen to be gone; since is the zero time where its provider does not say.
	SandboxSeen(ctx context.Context, sandboxID, providerID string, since time.Time) error
	AgentStarted(ctx context.Context, sandboxID string) error
	// RecordSandboxState moves the ledger row forward, never back: deleting, gone, verified, lost; and read,
	// which is that what its agent had spooled was read to its end.
	RecordSandboxState(ctx context.Context, s contract.RecordSandboxStateInput) error
	// SandboxUnmade ends a row whose making never began, and reports whether it was one.
	SandboxUnmade(ctx context.Context, sandboxID string) (bool, error)
	SaveSalvage(ctx context.Context, sandboxID string, s task.Salvage) error
	SaveHead(ctx context.Context, taskID string, attempt int, commit string) error
	// Pulse looks window back for outages of intake and relay.
	Pulse(ctx context.Context, sandboxID string, window time.Duration) (task.Pulse, error)
	// FrozenTime is how long a sandbox was frozen since its attempt was assigned.
	FrozenTime(ctx context.Context, sandboxID string) (time.Duration, error)
}

// Fleet is the part of the store that finds orphans.
type Fleet interface {
	Installation(ctx context.Context) (string, error)
	// Targets are the places to look at: each live host's providers, and the shared ones.
	Targets(ctx context.Context) ([]contract.ReaperTarget, error)
	// LedgerOrphans are rows that are not verified gone and belong to no live attempt for grace.
	LedgerOrphans(ctx context.Context, grace time.Duration) ([]contract.Orphan, error)
	// Unowned answers which of the listed sandboxes belong to no live attempt for grace.
	Unowned(ctx context.Context, listed []sandbox.Sandbox, grace time.Duration) ([]contract.Orphan, error)
	// Found notes that a host holds what it lists, where the ledger has it as lost or on a host that is gone.
	Found(ctx context.Context, hostID string, listed []sandbox.Sandbox) error
	// Adopt writes rows for those of the listed sandboxes that the ledger does not know, so that
	// they can be cleaned up. hostID is empty where the provider is bound to no host.
	Adopt(ctx context.Context, provider, hostID string, listed []sandbox.Sandbox) error
	// EndStrays ends attempts that are open though their task is over or has a later one.
	EndStrays(ctx context.Context) error
	// MarkReappeared records that a sandbox exists again after its deletion was verified; since is the zero time where its provider does not say.
	MarkReappeared(ctx context.Context, sandboxID, providerID string, since time.Time) error
	// CountReappeared counts the rows that reappeared after their deletion was verified, and exist since; id is one of them.
	CountReappeared(ctx context.Context) (n int, id string, err error)
	// Overdue counts the rows that have been unverified for longer than age after their end.
	Overdue(ctx context.Context, age time.Duration) (n int, oldest time.Duration, err error)
	// SetAlert raises an alert; an empty text takes it back.
	SetAlert(ctx context.Context, source, text string) error
}

// Reconciler is the part of the store that reconciles tasks with Temporal, and pauses the reaper.
type Reconciler interface {
	// OpenTasks lists task ids that are not final and hold a run, newest projection older than
	// age, and those whose start or retry was sent longer than age ago and never taken up.
	OpenTasks(ctx context.Context, age time.Duration) ([]string, error)
	// Abandon writes off a task whose workflow is closed: failed(terminated), slot free, attempt ended.
	Abandon(ctx context.Context, taskID, reason string) error
	// Leftovers are the sandboxes that a task has left, and nobody has seen to be gone.
	Leftovers(ctx context.Context, taskID string) ([]contract.Orphan, error)
	Grant(ctx context.Context) error // runs the gate once for every organization
	// IsIdle reports whether every task is final, every deletion is verified, and no sandbox can appear any more.
	IsIdle(ctx context.Context) (bool, error)
	// SetReaperRests tells who starts a task whether the reaper's schedule has to be woken.
	SetReaperRests(ctx context.Context, rests bool) error
}

// Runs is the part of Temporal that activities need.
type Runs interface {
	// CurrentRun answers the newest run of a task's workflow and whether it is open.
	CurrentRun(ctx context.Context, taskID string) (runID string, open bool, err error)
	// StartCleanup starts the cleanup of a sandbox; one that runs is success.
	StartCleanup(ctx context.Context, in contract.CleanupInput) error
	PauseSchedule(ctx context.Context, id, note string) error
	// SignalCheck asks a task's workflow to check a sandbox that seems to have ended.
	SignalCheck(ctx context.Context, taskID string, in contract.CheckSignal) error
	// WakeReaper unpauses the reaper's schedule and triggers it.
	WakeReaper(ctx context.Context) error
}

// Providers finds a sandbox provider by its wire name.
type Providers interface {
	Provider(name string) (sandbox.Provider, error)
}

// Credentials finds what the sandbox of a task is given to log in elsewhere, as variables. [task.CodeNotFound]
// says what is missing, and the next step.
type Credentials interface {
	ForTask(ctx context.Context, work task.Work) (map[string]string, error)
	// Give is ForTask, and notes the use.
	Give(ctx context.Context, work task.Work) (map[string]string, error)
}

// Logs keeps the sandboxes' own logs.
type Logs interface {
	Keep(ctx context.Context, p sandbox.Provider, labels sandbox.Labels) error
}

// Git is the host of a repository.
type Git interface {
	For(repo string, who scm.Owner) (scm.Host, error)
}
