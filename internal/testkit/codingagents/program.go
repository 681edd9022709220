package codingagents

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omoi-dev/omoi/internal/testkit/npm"
)

// Program is the pinned program of a coding agent.
type Program struct {
	Agent   string // name of the agent
	Name    string // name of the program
	Install string // command whose last word is the package with its version
	Pinned  string // version
	Version func(ctx context.Context, path, dir string, environ []string) (string, error)
}

// Find returns the path of the program, which it installs in the user's cache. Without the network the test is skipped.
func (p Program) Find(tb testing.TB) string {
	tb.Helper()
	words := strings.Fields(p.Install)
	path, err := npm.Program{
		Folder: p.Agent, Package: strings.TrimSuffix(words[len(words)-1], "@"+p.Pinned), Version: p.Pinned, Name: p.Name,
		Works: func(ctx context.Context, path string) bool {
			version, err := p.Version(ctx, path, tb.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir()})
			return err == nil && version == p.Pinned
		},
	}.Install(tb.Context())
	if err != nil {
		tb.Skipf("SKIPPED: %s %s cannot be installed, so nothing was tested with it: %v", p.Agent, p.Pinned, err)
	}
	return path
}

// Modules returns the folder of packages in which a program is.
func Modules(path string) string { return filepath.Dir(filepath.Dir(path)) }
