// Package diff describes changes of files: of one edit by its text before and after, and of a command by two snapshots
// of the work tree.
package diff

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// Limits of the legacy wire format, and textBytes.
const (
	previewLines = 100
	previewBytes = 5000
	fullBytes    = 50_000
	textBytes    = 1 << 20 // larger files have no text diff
)

// Values of Change.Kind.
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
	Renamed  = "renamed"
)

// Change is the change of one file.
type Change struct {
	Path    string
	OldPath string // old path of a rename
	Kind    string
	Added   int
	Removed int
	Binary  bool
	Diff    string // unified diff, 3 lines of context; empty for binary and too large files
	Note    string // reason why there is no diff

	before, after string // blobs of a changed content
}

// Text compares the text of a file before and after; nil means that the file does not exist.
func Text(path string, before, after *string) Change {
	c := Change{Path: path, Kind: Modified}
	from, to := "a/"+path, "b/"+path
	var old, now string
	if before != nil {
		old = *before
	} else {
		c.Kind, from = Created, "/dev/null"
	}
	if after != nil {
		now = *after
	} else {
		c.Kind, to = Deleted, "/dev/null"
	}
	switch {
	case binary(old) || binary(now):
		c.Binary, c.Note = true, "Binary file."
	case len(old) > textBytes || len(now) > textBytes:
		c.Note = fmt.Sprintf("Too large for a diff: %d bytes before, %d after.", len(old), len(now))
	default:
		c.Diff = udiff.Unified(from, to, old, now)
		c.Added, c.Removed = count(c.Diff)
	}
	return c
}

// binary reports whether a text contains NUL or invalid UTF-8, which an event cannot hold.
func binary(text string) bool { return strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) }

// count returns the number of added and removed lines of a unified diff.
func count(diff string) (added, removed int) {
	inHunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed
}

// Data returns the change as the data of an agent.file_edited event.
func (c *Change) Data(turn int, toolUseID string) map[string]any {
	data := map[string]any{
		"turn": turn, "tool_use_id": toolUseID, "file_path": c.Path, "change_type": c.Kind,
		"lines_added": c.Added, "lines_removed": c.Removed, "diff_preview": c.preview(),
		"full_diff": nil, "full_diff_available": false, "full_diff_size": len(c.Diff), "binary": c.Binary,
	}
	if c.Diff != "" && len(c.Diff) <= fullBytes {
		data["full_diff"], data["full_diff_available"] = c.Diff, true
	}
	if c.OldPath != "" {
		data["old_path"] = c.OldPath
	}
	return data
}

func (c *Change) preview() string {
	if c.Note != "" {
		return c.Note
	}
	lines := slices.Collect(strings.Lines(c.Diff))
	text := strings.Join(lines[:min(len(lines), previewLines)], "")
	if len(lines) > previewLines {
		text += fmt.Sprintf("... %d more lines", len(lines)-previewLines)
	}
	return textcut.First(text, previewBytes)
}
