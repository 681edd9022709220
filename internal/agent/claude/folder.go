package claude

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/omoi-dev/omoi/internal/agent"
)

// transcriptPath returns where the program keeps a session of this workspace.
func transcriptPath(env agent.Env, session string) string {
	return filepath.Join(configDir(env), "projects", folderOf(workDir(env)), session+".jsonl")
}

// workDir is the workspace as the program names it: without symbolic links.
func workDir(env agent.Env) string {
	if resolved, err := filepath.EvalSymlinks(env.Config.Workspace); err == nil {
		return resolved
	}
	return env.Config.Workspace
}

const mostFolder = 200 // characters of a path that the name of its folder shows

// folderOf returns the folder that the program names after a path: a dash for each character that is neither letter nor digit. A
// long name is cut and ends with a hash of the path. Characters are units of UTF-16, as JavaScript counts them.
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
