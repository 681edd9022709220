package exit

import (
	"errors"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// bounds replaces the server's words for the bounds of numbers.
var bounds = strings.NewReplacer("expected number <= ", "give at most ", "expected number >= ", "give at least ") //nolint:gochecknoglobals // a constant table

// InFlags replaces the name of an API field in err with the name of its flag, if has reports that the command has the
// flag.
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

// flagOf returns the flag for a field of the API.
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
