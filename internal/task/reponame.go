package task

import (
	"path"
	"strconv"
	"strings"
)

// longestName is the length of the longest name of a project, in bytes.
const longestName = 255

// NameOfRepo is what the project of a repository is called where nobody gives it a name: the folder of a local one, owner/name of
// another.
func NameOfRepo(repo string) string {
	name := strings.TrimSuffix(repo, ".git")
	if strings.HasPrefix(name, "/") {
		name = path.Base(name)
	}
	return strings.ToValidUTF8(name[:min(len(name), longestName)], "")
}

// NumberedName returns the nth candidate for a name that must be unique: the name itself, then name-2, name-3 and so on.
func NumberedName(name string, n int) string {
	if n == 1 {
		return name
	}
	suffix := "-" + strconv.Itoa(n)
	return strings.ToValidUTF8(name[:min(len(name), longestName-len(suffix))], "") + suffix
}
