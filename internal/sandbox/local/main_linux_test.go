package local_test

import (
	"os"
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
			os.Exit(local.ShimMain(os.Args[2:])) //nolint:forbidigo // this is a main
		case "orphan":
			os.Exit(orphanMain()) //nolint:forbidigo // likewise
		}
	}
	_ = os.Setenv(conformance.PlantedEnv, "planted")
	goleak.VerifyTestMain(m)
}
