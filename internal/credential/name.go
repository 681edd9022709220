package credential

import (
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Prefixes of names of credentials that are not stored.
const (
	OfTask         = "task "         // the ID of the task follows
	OfInstallation = "installation " // the kind follows, or Model
)

// OfStored returns the prefix of all names of a stored credential. The time of its last change follows, in
// microseconds.
func OfStored(id string) string { return id + " " }

// Name returns the name of the credential that the agent of a task uses. Tasks with the same name share a rate limit.
// rows are the credentials of the task's organization. If omoi knows no credential of the task, or several, the name
// belongs to this task alone.
func Name(rows []Row, work task.Work) string {
	names, _ := wanted(work)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		runtime := task.RuntimeOf(work.Agent)
		return name == GitHub || runtime.NeedsModel && !runtime.ACP && !slices.Contains([]string{Model, ClaudeOAuth, Anthropic}, name)
	})
	if len(names) != 1 {
		return OfTask + work.TaskID
	}
	who := Who{OrganizationID: work.OrganizationID, UserID: work.UserID, ProjectID: work.ProjectID}
	row, stored := nearest(rows, who, names[0])
	if !stored {
		return OfInstallation + names[0]
	}
	return OfStored(row.ID) + strconv.FormatInt(row.UpdatedAt.UnixMicro(), 10)
}

// IsShared reports whether other tasks may use the named credential too.
func IsShared(name string) bool { return !strings.HasPrefix(name, OfTask) }

// IsStored reports whether the named credential is stored.
func IsStored(name string) bool { return IsShared(name) && !strings.HasPrefix(name, OfInstallation) }
