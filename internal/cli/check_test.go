package cli_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckProvider_RefusesWrongUsage(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "omoi-check-") //nolint:usetesting // t.TempDir is closed to the users of sandboxes
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	for want, args := range map[string][]string{
		"no Docker sandboxes. Next: omoi doctor":               {"check", "provider", "docker"},
		"takes the name of one provider":                       {"check", "provider"},
		"sandbox provider \"external\"":                        {"check", "provider", "external"},
		"This host does not offer the sandbox provider \"no\"": {"check", "provider", "no"},
		"not a regular expression":                             {"check", "provider", "local", "--run", "("},
		"--run Nowhere matches no check":                       {"check", "provider", "local", "--run", "Nowhere"},
	} {
		code, out, complaints := omoi(t, []string{"OMOI_SANDBOX_DIR=" + dir, "OMOI_SANDBOX_ISOLATION=none", "OMOI_TEST_SHIM_BINARY=/bin/false", "OMOI_DOCKER_ENABLED=never"}, args...)
		require.Equal(t, 2, code, "%v: %s", args, complaints)
		require.Contains(t, complaints, want)
		require.Empty(t, out)
	}
}

func TestCheck_RefusesWrongUsage(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"omoi check all takes no arguments, not \"flow\"":  {2, []string{"check", "all", "flow"}},
		"Invalid --timeout -1s: must be above 0":           {2, []string{"check", "flow", "--timeout", "-1s"}},
		"Unknown command \"nope\" in omoi check":           {2, []string{"check", "nope"}},
		"No server configured":                             {3, []string{"check", "agent"}},
		"takes the name of one agent":                      {2, []string{"check", "agent", "a", "b"}},
		"Cannot check the agent \"nope\": expected one of": {2, []string{"check", "agent", "nope"}},
		"Cannot run the check \"nope\": expected one of":   {2, []string{"check", "agent", "codex", "--only", "401,nope"}},
		"--only needs the name of an agent":                {2, []string{"check", "agent", "--only", "401"}},
	} {
		code, out, complaints := omoi(t, nil, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, complaints)
		require.Contains(t, complaints, want)
		require.Empty(t, out)
	}
}
