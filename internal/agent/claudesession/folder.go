// Package claudesession finds the sessions of Claude Code on disk, and adapts a session to another work tree.
package claudesession

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Path returns the path of a session of a work tree; config is the configuration folder of Claude Code.
func Path(config, work, session string) string {
	return filepath.Join(config, "projects", folderOf(named(work)), session+".jsonl")
}

// named returns the path of a work tree as Claude Code names it, without symbolic links.
func named(work string) string {
	if resolved, err := filepath.EvalSymlinks(work); err == nil {
		return resolved
	}
	return work
}

const mostFolder = 200 // maximum length of a folder name before it is cut

// folderOf returns the program's folder name for a path: each character that is neither a letter nor a digit becomes a
// dash. A long name is cut and ends with a hash of the path. A character is a UTF-16 code unit, as in JavaScript.
func folderOf(path string) string {
	var name strings.Builder
	var hash int32
	for _, unit := range utf16.Encode([]rune(path)) {
		hash = hash*31 + int32(unit)
		c := byte('-')
		if unit >= 'a' && unit <= 'z' || unit >= 'A' && unit <= 'Z' || unit >= '0' && unit <= '9' {
			c = byte(unit)
		}
		name.WriteByte(c)
	}
	if name.Len() <= mostFolder {
		return name.String()
	}
	return name.String()[:mostFolder] + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}
