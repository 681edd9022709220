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

// name returns the name of a stored credential. A replaced credential has another name.
func (r Row) name() string { return OfStored(r.ID) + strconv.FormatInt(r.UpdatedAt.UnixMicro(), 10) }

// IsShared reports whether other tasks may use the named credential too.
func IsShared(name string) bool { return !strings.HasPrefix(name, OfTask) }

// IsStored reports whether the named credential is stored.
func IsStored(name string) bool { return IsShared(name) && !strings.HasPrefix(name, OfInstallation) }

// onlyName returns the name of the only model credential that a task gets; empty if omoi knows none, or several.
func onlyName(work task.Work) string {
	names, _ := wanted(work)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		runtime := task.RuntimeOf(work.Agent)
		return name == GitHub || runtime.NeedsModel && !runtime.ACP && !slices.Contains([]string{Model, ClaudeOAuth, Anthropic}, name)
	})
	if len(names) != 1 {
		return ""
	}
	return names[0]
}
