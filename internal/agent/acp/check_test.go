//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/task"
)

// checked returns the findings of some checks, or of all, on a program that plays one session for each of its processes. What follows a
// slash is what the program does.
func checked(t *testing.T, wait time.Duration, only []string, sessions ...string) (findings []acp.Finding) {
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
%[3]s=%[1]s/$n %[4]s=%[5]s %[6]s=${1%%/*} %[7]s=${1#*/} exec %[8]s
`, dir, strings.Join(sessions, " "), fakeDir, fakeAgent, "codex", fakeSession, fakeDoes, program)
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	dialect, ok := acp.Of("codex")
	require.True(t, ok)
	acp.Check{Dialect: dialect, Path: path, Only: only, Wait: wait}.Run(t.Context(), func(f acp.Finding) { findings = append(findings, f) })
	return findings
}

func TestCheck_PassesWithAProgramThatBehaves(t *testing.T) {
	findings := checked(t, 0, nil, "basic", "nologin", "e401", "e429", "e500", "empty", "cancelmodel", "cancelmodel")
	require.Len(t, findings, len(acp.CheckNames()))
	for i, f := range findings {
		require.Equal(t, acp.CheckNames()[i], f.Name)
		require.NoError(t, f.Err, f.Name)
		require.NotEmpty(t, f.Detail)
	}
	require.Equal(t, task.ClassCredentials, findings[1].Class)
	require.Equal(t, task.ClassAgentError, findings[5].Class)
	require.Empty(t, findings[7].Class)
}

func TestCheck_NamesWhatIsWrong(t *testing.T) {
	findings := checked(t, 0, acp.CheckNames()[:6], "basic", "basic", "e429", "basic", "e401", "basic")
	require.Len(t, findings, 6)
	require.NoError(t, findings[0].Err)
	require.ErrorContains(t, findings[1].Err, "counts as a success")
	require.ErrorContains(t, findings[2].Err, "provider_limit instead of credentials")
	require.Equal(t, task.ClassProviderLimit, findings[2].Class)
	require.ErrorContains(t, findings[3].Err, "counts as a success")
	require.ErrorContains(t, findings[4].Err, "credentials instead of infrastructure")
	require.ErrorContains(t, findings[5].Err, "counts as a success")
}

func TestCheck_RunsTheNamedOnes(t *testing.T) {
	findings := checked(t, 0, []string{"401"}, "e401")
	require.Len(t, findings, 1)
	require.Equal(t, "401", findings[0].Name)
	require.NoError(t, findings[0].Err)
}

// A program that takes no notice of a cancellation or of the end of its input is killed.
func TestCheck_KillsAProgramThatDoesNotEnd(t *testing.T) {
	findings := checked(t, 500*time.Millisecond, []string{"cancel", "end of input"}, "basic/hold", "basic/hold")
	require.Len(t, findings, 2)
	require.ErrorContains(t, findings[0].Err, "did not end when it was cancelled")
	require.NoError(t, findings[1].Err)
	require.Contains(t, findings[1].Detail, "and was killed")
}
