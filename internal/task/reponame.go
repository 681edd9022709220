package task

import (
	"path"
	"strings"
)

// NameOfRepo is what the project of a repository is called where nobody gives it a name: the folder of a local one, owner/name of
// another.
func NameOfRepo(repo string) string {
	const longest = 255
	name := strings.TrimSuffix(repo, ".git")
	if strings.HasPrefix(name, "/") {
		name = path.Base(name)
	}
	return strings.ToValidUTF8(name[:min(len(name), longest)], "")
}
