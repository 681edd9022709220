package taskcmd

import (
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/docs/examples"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

// examplePrefix marks a script that omoi brings along.
const examplePrefix = "example:"

func exampleNames() string {
	return examplePrefix + strings.Join(examples.Names(), ", "+examplePrefix)
}

// readScript reads a script that the command line names.
func (r *run) readScript(script string) (raw json.RawMessage, err error) {
	name, isExample := strings.CutPrefix(script, examplePrefix)
	if !isExample {
		err = r.readJSON("the script", script, &raw)
		return raw, err
	}
	if raw, err = examples.Read(name); err != nil {
		return nil, exit.Usagef("there is no %s; choose from %s", script, exampleNames())
	}
	return raw, nil
}
