package local_test

import (
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

// TestMain runs the tests, a shim, or the worker process that orphan kills: this binary is all of them.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim":
			syscall.Exit(local.ShimMain(os.Args[2:])) // os.Exit waits a second under the race detector
		case "orphan":
			os.Exit(orphanMain()) //nolint:forbidigo // a main function
		}
	}
	_ = os.Setenv(conformance.PlantedEnv, "planted")
	goleak.VerifyTestMain(m)
}
