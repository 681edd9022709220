package sandbox

import (
	"regexp"
	"strconv"

	"github.com/omoi-dev/omoi/internal/task"
)

var legalID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Check returns an error for labels that cannot be the name of a folder or container.
func (l Labels) Check() error {
	switch {
	case !legalID.MatchString(l.SandboxID):
		return task.Invalid("sandbox_id", "invalid sandbox ID %q: expected lower-case letters, digits and hyphens", l.SandboxID)
	case l.Installation == "":
		return task.Invalid("installation", "a sandbox belongs to an installation")
	}
	return nil
}

// Pairs returns l as keys and values for the labels of an engine. Each key starts with prefix.
func (l Labels) Pairs(prefix string) map[string]string {
	return map[string]string{
		prefix + "installation": l.Installation, prefix + "task": l.TaskID,
		prefix + "attempt": strconv.Itoa(l.Attempt), prefix + "sandbox": l.SandboxID,
	}
}

// LabelsOf reads labels that Pairs wrote, and ignores others. An invalid attempt becomes a number that no sandbox has.
func LabelsOf(pairs map[string]string, prefix string) Labels {
	attempt, err := strconv.Atoi(pairs[prefix+"attempt"])
	if err != nil {
		attempt = -1
	}
	return Labels{Installation: pairs[prefix+"installation"], TaskID: pairs[prefix+"task"], Attempt: attempt, SandboxID: pairs[prefix+"sandbox"]}
}
