//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/acp"
)

// checked returns the findings on a program that plays one session for each of its processes.
func checked(t *testing.T, name string, sessions ...string) (findings []acp.Finding) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
n=$(ls %[1]s | grep -c plays)
: > %[1]s/plays-$n
mkdir -p %[1]s/$n
set -- %[2]s
shift $n
%[3]s=%[1]s/$n %[4]s=%[5]s %[6]s=$1 exec %[7]s
`, dir, strings.Join(sessions, " "), fakeDir, fakeAgent, name, fakeSession, program)
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	dialect, ok := acp.Of(name)
	require.True(t, ok)
	dialect.Check(t.Context(), path, func(f acp.Finding) { findings = append(findings, f) })
	return findings
}

func TestCheck_PassesWithAProgramThatBehaves(t *testing.T) {
	for _, f := range checked(t, "codex", "basic", "e401", "e429", "e500", "cancelmodel") {
		require.NoError(t, f.Err, f.Name)
		require.NotEmpty(t, f.Detail)
	}
}

func TestCheck_NamesWhatIsWrong(t *testing.T) {
	findings := checked(t, "codex", "basic", "e429", "basic", "e401", "cancelmodel")
	require.Len(t, findings, 5)
	require.NoError(t, findings[0].Err)
	require.ErrorContains(t, findings[1].Err, "provider_limit instead of credentials")
	require.ErrorContains(t, findings[2].Err, "counts as a success")
	require.ErrorContains(t, findings[3].Err, "credentials instead of infrastructure")
}
