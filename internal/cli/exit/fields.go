package exit

import (
	"errors"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// bounds are the words for limits of numbers.
var bounds = strings.NewReplacer("expected number <= ", "give at most ", "expected number >= ", "give at least ") //nolint:gochecknoglobals // a table that nobody writes

// InFlags says in the words of the command line what the server has against a value: it speaks of fields, a person has
// given flags. has reports whether there is a flag of that name.
func InFlags(err error, has func(flag string) bool) error {
	e, ok := errors.AsType[*task.Error](err)
	if !ok || e.Field == "" {
		return err
	}
	said, found := strings.CutPrefix(e.Message, e.Field+": ")
	flag := flagOf(e.Field)
	if !found || !has(flag) {
		return err
	}
	changed := *e
	changed.Message = "--" + flag + ": " + bounds.Replace(said)
	return With(Code(err), &changed)
}

// flagOf is the name of the flag for a field of the API.
func flagOf(field string) string {
	parent, name, inner := strings.Cut(field, ".")
	if !inner {
		parent, name = "", field
	}
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "wall_clock_s":
		name = "wall-clock"
	case "sandbox_s":
		name = "sandbox-time"
	case "setup_timeout_s":
		name = "setup-timeout"
	case "agents_may_message":
		name = "allow-agent-messages"
	case "autonomous_execution_enabled":
		name = "autonomous-execution"
	}
	if parent == "budget" {
		name = "budget-" + name
	}
	return strings.ReplaceAll(name, "_", "-")
}
