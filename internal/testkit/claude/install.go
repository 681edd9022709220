// Package claude gets the real Claude Code for tests: pinned versions from npm, kept in the
// user's cache. The program is proprietary and no part of omoi.
package claude

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/omoi-dev/omoi/internal/testkit/npm"
)

// Versions are those that tests run. They are exact, since npm otherwise chooses by the version
// of Node that a machine has.
func Versions() []string { return []string{"2.1.197", "2.1.328"} }

// Asked is the variable that asks for tests with the real program: they may need the network.
const Asked = "OMOI_CLAUDE_TEST"

// Install answers the path of one version of the program. A test that cannot have it is
// skipped, and says why.
func Install(tb testing.TB, version string) string {
	tb.Helper()
	if os.Getenv(Asked) == "" {
		tb.Skipf("SKIPPED: the real Claude Code is run by make claude-test, which may ask npm for it")
	}
	path, err := program(version).Install(tb.Context())
	if err != nil {
		tb.Skipf("SKIPPED: Claude Code %s cannot be installed, so nothing was tested with it: %v", version, err)
	}
	return path
}

func program(version string) npm.Program {
	return npm.Program{
		Folder: "claude-code", Package: "@anthropic-ai/claude-code", Version: version, Name: "claude",
		Works: func(ctx context.Context, path string) bool {
			out, err := exec.CommandContext(ctx, path, "--version").Output()
			return err == nil && strings.HasPrefix(string(out), version)
		},
	}
}
