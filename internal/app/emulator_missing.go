//go:build !emulator

package app

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// emulatorLinked reports whether this build contains the Daytona emulator.
const emulatorLinked = false

func (*dev) startEmulator(context.Context) (func() error, error) { return nil, errNoEmulator() }

func startModel([]string) (address string, stop func(), err error) {
	return "", nil, task.Errorf(task.CodeInvalid, "This build of omoi has no scripted model: only development builds do. Next: run make demo AGENT=codex in omoi's sources")
}
