package gitcmd

import (
	"fmt"
	"strings"
)

// Change is how a file differs from an older one.
type Change struct{ OldMode, Mode, OldID, ID string }

// NoFile is the mode of a file that does not exist.
const NoFile = "000000"

// Same reports whether both changes end with the same file.
func (c Change) Same(as Change) bool { return c.Mode == as.Mode && c.ID == as.ID }

// Undo returns the line for git update-index -z --index-info that restores the older file.
func (c Change) Undo(path string) string {
	return fmt.Sprintf("%s %s\t%s\x00", c.OldMode, c.OldID, path)
}

// Changes returns the changes in the output of git diff --raw -z, by path. A line is ":<mode> <mode> <id> <id> <status>", and its path
// follows a NUL.
func Changes(raw string) map[string]Change {
	all := map[string]Change{}
	fields := strings.Split(raw, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if parts := strings.Fields(strings.TrimPrefix(fields[i], ":")); len(parts) == 5 {
			all[fields[i+1]] = Change{parts[0], parts[1], parts[2], parts[3]}
		}
	}
	return all
}
