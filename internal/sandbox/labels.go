package sandbox

import (
	"regexp"

	"github.com/omoi-dev/omoi/internal/task"
)

var legalID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Check refuses what cannot be the name of a folder or of a container.
func (l Labels) Check() error {
	switch {
	case !legalID.MatchString(l.SandboxID):
		return task.Invalid("sandbox_id", "%q is no sandbox id: lower-case letters, digits and hyphens only", l.SandboxID)
	case l.Installation == "":
		return task.Invalid("installation", "a sandbox belongs to an installation")
	}
	return nil
}
