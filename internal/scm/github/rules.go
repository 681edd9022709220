package github

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// ruled is of commits that the repository's rules do not let in, with the server's own words.
func (r *repository) ruled(words string, cause error) error {
	next := "allow omoi's branches in the rules at " + r.page("settings/rules") + ", then retry"
	switch {
	case strings.Contains(words, "GH001"):
		next = "have the work done without that file, or with Git LFS by hand: the file is in the saved work"
	case strings.Contains(words, "GH008"):
		next = "have the work done without new files of Git LFS, whose content omoi does not bring out"
	case strings.Contains(words, "secret"):
		next = "have the work done without the secret, or allow it where GitHub says, then retry"
	}
	return task.Errorf(task.CodeConflict, "GitHub does not take the branch in %s: %s Next: %s", r.full(), words, next).WithCause(cause)
}
