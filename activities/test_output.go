package activities

import (
	"regexp"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// testOutput keeps the beginning and the end of what a test command writes to a stream, at most [sandbox.MaxExecOutput] bytes of each.
type testOutput struct {
	beginning sandbox.Output
	end       textcut.Tail
}

func newTestOutput() *testOutput {
	return &testOutput{end: textcut.Tail{Max: sandbox.MaxExecOutput}}
}

// Write never fails.
func (o *testOutput) Write(text []byte) (int, error) {
	_, _ = o.beginning.Write(text)
	return o.end.Write(text)
}

// unbuilt reports whether the output says that a test could not be built or loaded.
func (o *testOutput) unbuilt() bool {
	return unbuilt.Match(o.beginning.Bytes()) || unbuilt.Match(o.end.Bytes())
}

// unbuilt matches what compilers and runners print if they cannot build or load a test. A message that it misses makes work with
// such tests pass only with changed tests.
var unbuilt = regexp.MustCompile(`\[(?:build|setup) failed\]|\bSyntaxError\b|\b(?:ImportError|ModuleNotFoundError)\b|Cannot find module|error TS\d+:|error\[E\d+\]|could not compile|COMPILATION ERROR|error: cannot find symbol|undefined reference to`)
