package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
)

// bin is the folder with the programs under test, built once for all tests; answers judges what their servers answer.
var (
	bin     string
	answers *apitest.Transport
)

func TestMain(m *testing.M) {
	if os.Getenv(tellerEnv) != "" {
		os.Exit(tell()) //nolint:forbidigo // likewise
	}
	if os.Getenv(holdEnv) != "" {
		os.Exit(hold()) //nolint:forbidigo // likewise
	}
	os.Exit(run(m)) //nolint:forbidigo // a test binary's main
}

func run(m *testing.M) int {
	if bin = os.Getenv("OMOI_TEST_BIN"); bin != "" { // built already, for a user who cannot build
		return judged(m)
	}
	dir, err := os.MkdirTemp("", "omoi-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, name := range []string{"omoi", "omoi-agent"} {
		build := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(dir, name), "../../cmd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build", name, err)
			return 1
		}
	}
	bin = dir
	return judged(m)
}

// judged runs the tests and fails if a server answered any of them what the OpenAPI document
// does not say.
func judged(m *testing.M) int {
	doc, err := apitest.Load("../../api/openapi.json", apitest.GoodSenders)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil { // tests wait for other processes; -parallel wins
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if scratch, err = os.MkdirTemp("", "omoi-e2e-shared-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	answers = apitest.NewTransport(doc, http.DefaultTransport)
	http.DefaultTransport = answers
	code := m.Run()
	if err := answers.Faults(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		return max(code, 1)
	}
	return code
}
