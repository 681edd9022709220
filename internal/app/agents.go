package app

import (
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/omoi-dev/omoi/internal/task"
)

// agents opens the omoi-agent program for an architecture: the configured file, else the embedded one (build tag
// release), else the one next to the omoi binary.
type agents struct{ configured string }

func (a agents) open(arch string) (io.ReadCloser, error) {
	if a.configured != "" {
		program, err := os.Open(a.configured)
		if err != nil {
			return nil, task.Errorf(task.CodeInvalid, "Cannot open agent.binary. Next: make build").WithCause(err)
		}
		return program, nil
	}
	if program, ok := builtInAgent(arch); ok {
		return program, nil
	}
	for _, path := range agentsBeside(arch) {
		if program, err := os.Open(path); err == nil {
			return program, nil
		}
	}
	return nil, task.Errorf(task.CodeInvalid, "omoi-agent for linux %s not found beside omoi. Next: make build in omoi's sources, or set agent.binary", arch)
}

// agentsBeside returns the paths at which make build writes omoi-agent.
func agentsBeside(arch string) []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	if path, err := filepath.EvalSymlinks(exe); err == nil {
		exe = path
	}
	dir := filepath.Dir(exe)
	paths := []string{filepath.Join(dir, "omoi-agent-linux-"+arch)}
	if arch == runtime.GOARCH {
		paths = append(paths, filepath.Join(dir, "omoi-agent"))
	}
	return paths
}
