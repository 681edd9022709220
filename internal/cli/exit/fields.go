package exit

import (
	"errors"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// bounds are the words for limits of numbers.
var bounds = strings.NewReplacer("expected number <= ", "give at most ", "expected number >= ", "give at least ") //nolint:gochecknoglobals // a table that nobody writes

// InFlags names the flag of the command line in what the server says of a field. has reports whether there is a flag of
// that name.
func InFlags(err error, has func(flag string) bool) error {
	e, ok := errors.AsType[*task.Error](err)
	if !ok || e.Field == "" || !has(flagOf(e.Field)) {
		return err
	}
	said := strings.ReplaceAll(strings.TrimPrefix(e.Message, e.Field+": "), "execution_config.", "")
	changed := *e
	changed.Message = "--" + flagOf(e.Field) + ": " + bounds.Replace(said)
	return With(Code(err), &changed)
}

// flagOf is the name of the flag for a field of the API.
func flagOf(field string) string {
	parent, name, inner := strings.Cut(field, ".")
	switch {
	case !inner:
		name = parent
	case field == "execution_config.validator.script":
		return "validator-script"
	case parent == "execution_config" && name != "script":
		return "execution-config"
	}
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "wall_clock_s":
		name = "wall-clock"
	case "sandbox_s":
		name = "sandbox-time"
	case "deadline_at":
		name = "deadline"
	case "setup_timeout_seconds":
		name = "setup-timeout"
	case "autonomous_execution_enabled":
		name = "autonomous-execution"
	}
	if parent == "budget" {
		name = "budget-" + name
	}
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}
