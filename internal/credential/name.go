package credential

import (
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Beginnings of names of credentials that are not stored.
const (
	OfTask         = "task "         // then the ID of the task
	OfInstallation = "installation " // then a kind
)

// OfStored returns the beginning of the names that a stored credential has had; the time of its last change follows.
func OfStored(id string) string { return id + " " }

// Name names the credential that the agent of a task uses, so that a rate limit of one is known to all tasks on it. rows are
// those of the task's organization. A task has a name of its own where omoi knows no credential, or several of which the agent
// may use any.
func Name(rows []Row, work task.Work) string {
	names, _ := wanted(work)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == GitHub || task.RuntimeOf(work.Agent).NeedsModel && !slices.Contains([]string{Model, ClaudeOAuth, Anthropic}, name)
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

// IsShared reports whether a name is of a credential that other tasks may use too.
func IsShared(name string) bool { return !strings.HasPrefix(name, OfTask) }

// IsStored reports whether a name is of a credential that is stored.
func IsStored(name string) bool { return IsShared(name) && !strings.HasPrefix(name, OfInstallation) }
