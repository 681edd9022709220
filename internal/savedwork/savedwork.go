// Package savedwork lists where the work of a task is: on its branch, under a rescue ref, or in omoi's store.
package savedwork

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Kinds of saved work.
const (
	Branch = "branch" // commits on the task's branch
	Rescue = "rescue" // a commit under a rescue ref of the repository
	Patch  = "patch"  // in omoi's store, in the format of git apply
	Bundle = "bundle" // in omoi's store as a Git bundle, which the repository refused
	Lost   = "lost"   // the sandbox has been unreachable since LostSince
	Saving = "saving" // the attempt ended, and salvage is in progress
	None   = "none"   // the attempt left no work
)

// Kinds of stored texts with work. Binary work is stored as base64.
const (
	TextPatch       = "patch"
	TextPatchBase64 = "patch" + TextBase64
	TextBundle      = "bundle" + TextBase64
	TextBase64      = "_base64" // suffix of their kinds
)

// SavedWork is the location of an attempt's work.
type SavedWork struct {
	Attempt   int        `json:"attempt" doc:"Number of the attempt that left the work."`
	SandboxID string     `json:"sandbox_id" doc:"Sandbox in which the work was done."`
	Kind      string     `json:"kind" enum:"branch,rescue,patch,bundle,lost,saving,none" doc:"branch: on the branch of the task; rescue: under a ref of its own; patch, bundle: stored by omoi; lost: sandbox unreachable; saving: not finished; none: nothing left."`
	Ref       string     `json:"ref,omitempty" doc:"Branch or ref of the repository that holds the work. Left out: none."`
	Head      string     `json:"head,omitempty" doc:"Newest commit on the branch, or the one that did not get there. Left out: none."`
	Files     int        `json:"files,omitempty" doc:"Number of files with uncommitted changes. Left out: none."`
	Bytes     int64      `json:"bytes,omitempty" doc:"Size of the uncommitted changes in bytes; of kind patch or bundle, size of the patch or bundle. Left out: 0."`
	LostSince *time.Time `json:"lost_since,omitempty" doc:"Time of the last sign of life of a lost sandbox. Left out: not lost."`
	Notes     []string   `json:"notes,omitempty" doc:"What was left out or differs, one sentence each. Left out: nothing."`
	RemovedAt *time.Time `json:"removed_at,omitempty" doc:"When retention removed the work. Left out: still kept."`
	Next      string     `json:"next,omitempty" doc:"Shell command that gets the work, run in a clone of the repository. Left out: nothing to get."`
	// Text is the ID of the stored text.
	Text string `json:"-"`
}

// Kept reports whether the work is in omoi's store, not in the repository.
func (s SavedWork) Kept() bool { return s.Kind == Patch || s.Kind == Bundle }

// Of lists the locations of a task's work, by attempt. Work on the branch comes before other work of the same attempt.
// For a running attempt it lists only saved work.
func Of(t task.Task) []SavedWork {
	var all []SavedWork
	before := task.Deref(t.Base)
	for _, a := range t.Attempts {
		found := besideBranch(a)
		if head := task.Deref(a.HeadCommit); head != "" && head != before && t.Branch != nil {
			found = append([]SavedWork{{Kind: Branch, Ref: *t.Branch, Head: head}}, found...)
			before = head
		}
		switch {
		case a.EndedAt == nil:
		case beingSaved(a):
			found = append(found, SavedWork{Kind: Saving, Notes: []string{savingNote}})
		case len(found) == 0:
			found = []SavedWork{{Kind: None}}
		}
		for _, one := range found {
			one.Attempt, one.SandboxID = a.Number, a.SandboxID
			all = append(all, one)
		}
	}
	return all
}

// savingNote explains the kind saving to a reader.
const savingNote = "What it left is still being saved. Look again in a moment."

// beingSaved reports whether the salvage of an ended attempt has no result yet.
func beingSaved(a task.Attempt) bool {
	switch a.SandboxState {
	case task.SandboxIntended, task.SandboxCreating, task.SandboxRunning, task.SandboxDeleting:
		return a.Salvage == nil
	case task.SandboxGone, task.SandboxLost:
	}
	return false
}

// besideBranch returns the saved work of an attempt that is not on the branch.
func besideBranch(a task.Attempt) []SavedWork {
	if a.Salvage == nil {
		return nil
	}
	s := *a.Salvage
	one := SavedWork{Head: s.Head, Files: s.Files, Bytes: s.Bytes, LostSince: s.LostSince, Notes: s.Notes}
	switch {
	case s.Kind == task.SalvageRef && s.Files == 0 && s.Head != "" && s.Head == task.Deref(a.HeadCommit):
		return nil // its commits came to the branch later, and it has nothing else
	case s.Kind == task.SalvageRef:
		one.Kind, one.Ref = Rescue, s.Ref
	case s.Kind == task.SalvagePatch:
		one.Kind, one.Text = Patch, s.Ref
	case s.Kind == task.SalvageLost:
		one.Kind = Lost
	case len(s.Notes) > 0:
		one.Kind = None
	default:
		return nil
	}
	return []SavedWork{one}
}
