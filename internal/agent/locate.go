package agent

import (
	"os"
	"path/filepath"
	"slices"
)

// Locate returns the path of a program: the first of the given paths that can be run, else one on PATH or in the folders of
// installers. Empty: not found.
func Locate(vars map[string]string, program string, first ...string) string {
	places := slices.Clone(first)
	for _, dir := range filepath.SplitList(vars["PATH"]) {
		places = append(places, filepath.Join(dir, program))
	}
	for _, dir := range []string{".local/bin", ".claude/local", "node_modules/.bin", ".npm-global/bin"} {
		places = append(places, filepath.Join(vars["HOME"], dir, program))
	}
	for _, path := range places {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}
