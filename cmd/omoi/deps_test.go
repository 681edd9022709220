package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDependencies_KeepOut lists what a package must not link, in a build without tags.
func TestDependencies_KeepOut(t *testing.T) {
	t.Parallel()
	const ours = "github.com/omoi-dev/omoi/"
	tests := []struct {
		name, pkg string
		banned    []string
	}{
		{
			name: "omoi: test doubles, benches", pkg: ours + "cmd/omoi",
			banned: []string{ours + "internal/testkit", ours + "internal/bench", ours + "internal/tools", "github.com/alicebob"},
		},
		{
			name: "workflows: drivers and adapters", pkg: ours + "workflows",
			banned: []string{
				"github.com/jackc", "github.com/gin-gonic", "github.com/redis", "github.com/docker", "github.com/prometheus",
				ours + "activities", ours + "api", ours + "config", ours + "internal/agent", ours + "internal/app", ours + "api/client", ours + "internal/live",
				ours + "internal/postgres", ours + "internal/sandbox", ours + "internal/scm", ours + "internal/temporal", ours + "internal/testkit",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, dep := range dependencies(t, test.pkg) {
				for _, banned := range test.banned {
					require.False(t, dep == banned || strings.HasPrefix(dep, banned+"/"), "%s links %s; go list -deps -json says through which package", test.pkg, dep)
				}
			}
		})
	}
}

// dependencies returns the import paths of all packages that pkg links in a build without tags.
func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags=", pkg)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, pkg)
	return deps
}
