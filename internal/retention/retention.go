// Package retention names the kinds of data that omoi removes after a while, and describes how much of each is stored.
package retention

import (
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Kinds of data that retention removes, named as their settings in the group retention.
const (
	Events      = "events"
	LargeFields = "large_fields"
	Transcripts = "transcripts"
	Checkpoints = "checkpoints"
	Patches     = "patches"
	BusRows     = "bus_rows"
	Branches    = "branches"
	Refs        = "refs"
)

// Kinds returns every kind, in the order of a retention pass.
func Kinds() []string {
	return []string{LargeFields, Events, Transcripts, Checkpoints, Patches, BusRows, Branches, Refs}
}

// Policy is how long each kind of data is kept after its task has ended.
type Policy struct {
	Keep  map[string]time.Duration // by kind; 0 or absent: forever
	Ahead time.Duration            // added to the database's clock
}

// Step says what one step of a retention pass removed.
type Step struct {
	Subjects   int64 // sandboxes or tasks
	Rows       int64
	Partitions int64
	More       bool // data that has expired is left
}

// Removed is the error for data that retention removed: what it was, of what, and when.
func Removed(kind, of string, at time.Time) error {
	words := map[string]string{
		Events: "events", LargeFields: "large fields", Transcripts: "transcripts", Checkpoints: "checkpoints",
		Patches: "saved work", Branches: "branch", Refs: "saved refs",
	}
	verb := "were"
	if kind == Patches || kind == Branches {
		verb = "was"
	}
	return task.Errorf(task.CodeGone, "The %s of %s %s removed on %s: older than retention.%s.", words[kind], of, verb, at.UTC().Format(time.DateOnly), kind).WithKind(task.KindDataRemoved)
}

// ExpiredGit is an ended task that may have branches and refs in its repository.
type ExpiredGit struct {
	TaskID, Repo, UserID, ProjectID string

	Earlier int // branches before the present one
}

// Storage says how much omoi stores, by kind, and what the next retention pass removes.
type Storage struct {
	At    time.Time     `json:"measured_at" doc:"Time of the measurement by the clock of the retention, which a test may move ahead."`
	Kinds []StorageKind `json:"kinds" nullable:"false" doc:"One entry for each kind of data that retention removes."`
}

// StorageKind is the share of one kind.
type StorageKind struct {
	Kind        string  `json:"kind" enum:"large_fields,events,transcripts,checkpoints,patches,bus_rows,branches,refs" doc:"Kind of data, named as its setting in the group retention. More values may be added."`
	Bytes       *int64  `json:"bytes,omitempty" doc:"Size in the database with indexes, in bytes; absent for what Git repositories hold."`
	ObjectBytes int64   `json:"object_bytes,omitempty" doc:"Size of the packs in the object store of checkpoint.store, in bytes; only of the kind checkpoints, absent if 0."`
	KeepSeconds float64 `json:"keep_seconds" doc:"Configured retention in seconds, counted from the end of the task; 0: forever."`
	Expired     int64   `json:"expired" doc:"Number of sandboxes whose data the next pass removes; of branches and refs: tasks; of bus_rows: rows."`
	ExpiredRows int64   `json:"expired_rows,omitempty" doc:"Number of expired events; only of the kind events, absent if 0."`
}

// KeepText says how long a kind is kept.
func KeepText(keep time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case keep == 0:
		return "forever"
	case keep%day == 0:
		return strconv.FormatInt(int64(keep/day), 10) + " days"
	}
	return keep.String()
}
