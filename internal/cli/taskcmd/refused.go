package taskcmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// refused says in the words of the command line what the server has against the task: it speaks of fields.
func (r *run) refused(ctx context.Context, api *client.Client, in client.NewTask, err error) error {
	e, ok := errors.AsType[*task.Error](err)
	if !ok || e.Field == "" {
		return err
	}
	said := strings.TrimPrefix(e.Message, e.Field+": ")
	switch field, inner, _ := strings.Cut(e.Field, "."); field {
	case "agent":
		said = "--agent: " + said // names all that are accepted, also those that lack a program or a credential
	case "sandbox":
		info, _ := api.Info(ctx) // without it the server's own words must do
		said = choose("--sandbox", in.Sandbox, info.Sandboxes, said)
	case "execution_config":
		said = r.wrongConfig(in, inner, said)
	case "title", "priority":
		said = "--" + field + ": " + said
	case "description":
		said = strings.Replace(said, "The description", "The text", 1)
	case "force_create":
		said = strings.Replace(said, "Send force_create", "Add --force", 1)
		return exit.With(exit.NeedsYou, task.Errorf(e.Code, "%s", said))
	case "budget":
		return err // the flags are called after these fields
	case "max_retries":
		said = "--max-retries: " + said
	case "Idempotency-Key":
		said = strings.ReplaceAll(said, "The Idempotency-Key", "--idempotency-key")
	}
	changed := *e
	changed.Message = said
	return &changed
}

// choose names what the server has, where the value is not among it.
func choose(flag, value string, has []string, said string) string {
	if len(has) == 0 || slices.Contains(has, value) {
		return flag + ": " + said
	}
	return flag + " " + render.OneLine(value, 60) + ": choose from " + strings.Join(has, ", ")
}

func (r *run) wrongConfig(in client.NewTask, key, said string) string {
	switch {
	case key == "command" && !has(in.Execution, key):
		return needsProgram
	case key == "script" && !has(in.Execution, key):
		return needsScript()
	case key == "script" && r.script != "":
		return "--script: " + said
	case key == "validator.script" && r.validator != "":
		return "--validator-script: " + said
	case key == "validator.script" && r.execution == "":
		return needsVerdict
	}
	return "--execution-config: " + strings.ReplaceAll(said, "execution_config.", "")
}
