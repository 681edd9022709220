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

// engine is the engine of all tests, or nil; missing is the reason.
var (
	engine  *dockertest.Engine
	missing error
)

// TestMain runs the tests, or the worker process that orphan kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "orphan" {
		os.Exit(orphanMain()) //nolint:forbidigo // a main function
	}
	_ = os.Setenv(conformance.PlantedEnv, "planted")
	engine, missing = dockertest.Start(context.Background())
	if missing != nil && !errors.Is(missing, dockertest.ErrMissing) {
		fmt.Fprintln(os.Stderr, "FAIL:", missing)
		os.Exit(1) //nolint:forbidigo // a main function
	}
	goleak.VerifyTestMain(closing{m})
}

// closing stops the engine before the check for leaks.
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

// needEngine skips the test if there is no engine.
func needEngine(t *testing.T) {
	t.Helper()
	if engine == nil {
		t.Skip("SKIPPED: ", missing)
	}
}
