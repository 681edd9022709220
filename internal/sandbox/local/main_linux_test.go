package local_test

import (
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

// TestMain is also the shim, and the worker that is killed: sandboxes of these tests are
// run by this very binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim":
			syscall.Exit(local.ShimMain(os.Args[2:])) // os.Exit waits a second under the race detector
		case "orphan":
			os.Exit(orphanMain()) //nolint:forbidigo // this is a main
		}
	}
	_ = os.Setenv(conformance.PlantedEnv, "planted")
	goleak.VerifyTestMain(m)
}
