//go:build !linux

package taskcmd

import (
	"os"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func rawTerminal(*os.File) (*sandbox.Terminal, func(), error) {
	return nil, nil, task.Errorf(task.CodeInvalid, "A shell needs Linux here. Next: omoi sandbox exec <sandbox> -- <command>")
}
