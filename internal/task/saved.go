package task

import "time"

// Kinds of saved work.
const (
	SavedBranch = "branch" // commits on the task's branch
	SavedRescue = "rescue" // a commit below a ref of its own in the repository
	SavedPatch  = "patch"  // kept by omoi in the form that git apply takes
	SavedBundle = "bundle" // kept by omoi as a git bundle: the repository took it under no name
	SavedLost   = "lost"   // its sandbox could not be reached since LostSince
	SavedSaving = "saving" // the attempt has ended, and what it left is still being saved
	SavedNone   = "none"   // the attempt left nothing
)

// Kinds of stored texts that hold work. Work that is no text is stored as base64.
const (
	TextPatch       = "patch"
	TextPatchBase64 = "patch" + TextBase64
	TextBundle      = "bundle" + TextBase64
	TextBase64      = "_base64" // ends their kinds
)

// SavedWork says where work of an attempt is.
type SavedWork struct {
	Attempt   int        `json:"attempt"`
	SandboxID string     `json:"sandbox_id"`
	Kind      string     `json:"kind" enum:"branch,rescue,patch,bundle,lost,saving,none"`
	Ref       string     `json:"ref,omitempty"`   // branch or ref of the repository that holds it
	Head      string     `json:"head,omitempty"`  // newest commit on the branch, or that was to come there
	Files     int        `json:"files,omitempty"` // that were not committed
	Bytes     int64      `json:"bytes,omitempty"` // of these; of a patch or bundle: its own
	LostSince *time.Time `json:"lost_since,omitempty"`
	Notes     []string   `json:"notes,omitempty"` // what was left out, or is not as it was
	// RemovedAt is when retention removed it; nil: it is kept.
	RemovedAt *time.Time `json:"removed_at,omitempty"`
	// Next is the command that gets it, in a clone of the repository.
	Next string `json:"next,omitempty"`
	// Text is the id under which the store keeps it.
	Text string `json:"-"`
}

// Kept reports whether omoi itself has the work, and not the repository.
func (s SavedWork) Kept() bool { return s.Kind == SavedPatch || s.Kind == SavedBundle }

// SavedOf lists where the work of a task's attempts is, the first attempt first. What an attempt has on the branch
// comes before what it has beside it; of one that is at work only what is there already is told.
func SavedOf(t Task) []SavedWork {
	var all []SavedWork
	before := textOf(t.Base)
	for _, a := range t.Attempts {
		found := besideBranch(a)
		if head := textOf(a.HeadCommit); head != "" && head != before && t.Branch != nil {
			found = append([]SavedWork{{Kind: SavedBranch, Ref: *t.Branch, Head: head}}, found...)
			before = head
		}
		switch {
		case a.EndedAt == nil:
		case beingSaved(a):
			found = append(found, SavedWork{Kind: SavedSaving, Notes: []string{savingNote}})
		case len(found) == 0:
			found = []SavedWork{{Kind: SavedNone}}
		}
		for _, one := range found {
			one.Attempt, one.SandboxID = a.Number, a.SandboxID
			all = append(all, one)
		}
	}
	return all
}

// savingNote says what the word alone does not: nothing is known yet, and somebody is at it.
const savingNote = "What it left is still being saved. Look again in a moment."

// beingSaved reports whether the cleanup of an attempt that has ended has not yet said what there was to save.
func beingSaved(a Attempt) bool {
	switch a.SandboxState {
	case SandboxIntended, SandboxCreating, SandboxRunning, SandboxDeleting:
		return a.Salvage == nil
	case SandboxGone, SandboxLost:
	}
	return false
}

// besideBranch is what was saved of an attempt's work without being on the branch.
func besideBranch(a Attempt) []SavedWork {
	if a.Salvage == nil {
		return nil
	}
	s := *a.Salvage
	one := SavedWork{Head: s.Head, Files: s.Files, Bytes: s.Bytes, LostSince: s.LostSince, Notes: s.Notes}
	switch {
	case s.Kind == SalvageRef && s.Files == 0 && s.Head != "" && s.Head == textOf(a.HeadCommit):
		return nil // it came to the branch later, and there is nothing else in it
	case s.Kind == SalvageRef:
		one.Kind, one.Ref = SavedRescue, s.Ref
	case s.Kind == SalvagePatch:
		one.Kind, one.Text = SavedPatch, s.Ref
	case s.Kind == SalvageLost:
		one.Kind = SavedLost
	case len(s.Notes) > 0:
		one.Kind = SavedNone
	default:
		return nil
	}
	return []SavedWork{one}
}
