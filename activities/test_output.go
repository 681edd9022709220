package activities

import (
	"regexp"
	"slices"
	"sync"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// testOutput keeps the beginning and the end of what a test command writes to a stream, at most [sandbox.MaxExecOutput] bytes of each.
type testOutput struct {
	beginning sandbox.Output
	mu        sync.Mutex
	end       []byte
}

// Write never fails.
func (o *testOutput) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end = append(o.end, text...)
	if len(o.end) > 2*sandbox.MaxExecOutput { // not at each write, because it copies
		o.end = slices.Clone(lastBytes(o.end))
	}
	return o.beginning.Write(text)
}

// last returns the end of the output.
func (o *testOutput) last() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(lastBytes(o.end))
}

// unbuilt reports whether the output says that a test could not be built or loaded.
func (o *testOutput) unbuilt() bool {
	return unbuilt.Match(o.beginning.Bytes()) || unbuilt.Match(o.last())
}

func lastBytes(text []byte) []byte { return text[max(0, len(text)-sandbox.MaxExecOutput):] }

// unbuilt matches what compilers and runners print if they cannot build or load a test. A message that it misses makes work with
// such tests pass only with changed tests.
var unbuilt = regexp.MustCompile(`\[(?:build|setup) failed\]|\bSyntaxError\b|\b(?:ImportError|ModuleNotFoundError)\b|Cannot find module|error TS\d+:|error\[E\d+\]|could not compile|COMPILATION ERROR|error: cannot find symbol|undefined reference to`)
