package omoios

import (
	"cmp"
	"slices"

	"github.com/omoi-dev/omoi/internal/task"
)

// Report says what an import did with each row of the source, or would do.
type Report struct {
	DryRun bool    `json:"dry_run"`
	Kinds  []*Kind `json:"kinds"`
}

// Kind counts the rows of one table. Rows is the sum of Imported, Existing and Skipped.
type Kind struct {
	Table    string  `json:"table"`
	Missing  bool    `json:"missing,omitempty"` // the source has no such table
	Rows     int64   `json:"rows"`
	Imported int64   `json:"imported"`
	Existing int64   `json:"existing"` // imported earlier
	Skipped  int64   `json:"skipped"`
	Reasons  []*Note `json:"reasons,omitempty"` // why rows were skipped
	Changes  []*Note `json:"changes,omitempty"` // what imported rows have otherwise than in the source
}

// Note is a sentence about some rows.
type Note struct {
	Text     string   `json:"text"`
	Rows     int64    `json:"rows"`
	Examples []string `json:"examples,omitempty"` // IDs of the first rows in OmoiOS
}

// examples is the number of IDs that a note names.
const examples = 3

// outcome is the result for one row.
type outcome struct {
	existing bool
	skipped  string // reason; empty: imported or existing
	changes  []string
}

func skip(reason string) outcome { return outcome{skipped: reason} }

func (k *Kind) count(id string, o outcome) {
	switch {
	case o.skipped != "":
		k.Skipped++
		k.Reasons = note(k.Reasons, o.skipped, id)
	case o.existing:
		k.Existing++
	default:
		k.Imported++
		for _, text := range o.changes {
			k.Changes = note(k.Changes, text, id)
		}
	}
}

func note(notes []*Note, text, id string) []*Note {
	at := slices.IndexFunc(notes, func(n *Note) bool { return n.Text == text })
	if at < 0 {
		at, notes = len(notes), append(notes, &Note{Text: text})
	}
	n := notes[at]
	n.Rows++
	if len(n.Examples) < examples {
		n.Examples = append(n.Examples, id)
	}
	return notes
}

// check returns an error if a row is neither imported nor in the report.
func (r *Report) check() error {
	for _, k := range r.Kinds {
		if seen := k.Imported + k.Existing + k.Skipped; seen != k.Rows {
			return task.Errorf(task.CodeInternal, "The import of %s saw %d of %d rows. Next: run the command again, and report this if it repeats", k.Table, seen, k.Rows)
		}
		for _, notes := range [][]*Note{k.Reasons, k.Changes} {
			slices.SortStableFunc(notes, func(a, b *Note) int { return cmp.Compare(b.Rows, a.Rows) })
		}
	}
	return nil
}
