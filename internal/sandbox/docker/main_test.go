//go:build linux

package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	dockertest "github.com/omoi-dev/omoi/internal/testkit/docker"
)

// engine is that of all tests; nil where there can be none, and missing says why.
var (
	engine  *dockertest.Engine
	missing error
)

// TestMain is also the worker that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "orphan" {
		os.Exit(orphanMain()) //nolint:forbidigo // this is a main
	}
	_ = os.Setenv(conformance.PlantedEnv, "planted")
	engine, missing = dockertest.Start(context.Background())
	if missing != nil && !errors.Is(missing, dockertest.ErrMissing) {
		fmt.Fprintln(os.Stderr, "FAIL:", missing)
		os.Exit(1) //nolint:forbidigo // this is a main
	}
	goleak.VerifyTestMain(closing{m})
}

// closing ends the engine before anybody looks for what is left.
type closing struct{ *testing.M }

func (m closing) Run() int {
	code := m.M.Run()
	if engine == nil {
		return code
	}
	if err := engine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		return max(code, 1)
	}
	return code
}

// needEngine skips loudly where there is no engine.
func needEngine(t *testing.T) {
	t.Helper()
	if engine == nil {
		t.Skip("SKIPPED: ", missing)
	}
}
