package taskcmd

import (
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/docs/examples"
	"github.com/omoi-dev/omoi/internal/agent/scripted"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// examplePrefix marks a script that omoi brings along.
const examplePrefix = "example:"

func exampleNames() string {
	return examplePrefix + strings.Join(examples.Names(), ", "+examplePrefix)
}

// readScript reads and checks a script that the command line names.
func (r *run) readScript(script string) (json.RawMessage, error) {
	name, isExample := strings.CutPrefix(script, examplePrefix)
	if isExample {
		raw, err := examples.Read(name)
		if err != nil {
			return nil, exit.Usagef("there is no %s; choose from %s", script, exampleNames())
		}
		return raw, nil
	}
	var raw json.RawMessage
	if err := r.readJSON("the script", script, &raw); err != nil {
		return nil, err
	}
	parsed, err := scripted.Parse(raw)
	if err != nil {
		return nil, exit.Usagef("%s: %s", script, task.MessageOf(err))
	}
	if len(parsed.Steps) == 0 {
		return nil, exit.Usagef("%s has no steps: it must be an object as {\"steps\": [{\"say\": \"hello\"}]}", script)
	}
	return raw, nil
}

// equipped refuses an agent without what it works with before anything is sent.
func equipped(in client.NewTask) error {
	switch {
	case in.Agent == task.AgentScripted && !has(in.Execution, "script"):
		return exit.Usagef("%s", needsScript())
	case in.Agent == task.AgentCommand && !has(in.Execution, "command"):
		return exit.Usagef(needsProgram)
	}
	return nil
}

const needsProgram = `the agent command needs a program, and only what it commits is work: give it with --execution-config <file>, ` +
	`as {"command": ["sh", "-c", "python3 fix.py && { git diff --quiet HEAD || git commit -am 'Fix it'; }"]}`

const needsVerdict = "--validate: a scripted validator needs a script of its own with a verdict step. Next: give it with --validator-script <file> (docs/VALIDATION.md)"

func needsScript() string {
	return "the agent scripted needs --script <file>, or --script with one of " + exampleNames() +
		"; --agent claude (Claude Code) and --agent command (a program of yours) need no script"
}

// has tells whether an execution config has a key.
func has(execution json.RawMessage, key string) bool {
	var config map[string]json.RawMessage
	return len(execution) > 0 && json.Unmarshal(execution, &config) == nil && len(config[key]) > 0
}
