package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// The worker reports the program, the API adds the credential.
func TestDefaultAgent_ByProgramOfTheWorkerAndStoredCredential(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "omoi-agents-") //nolint:usetesting // sandboxes must be able to enter it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "claude")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho 2.1.328\n"), 0o755))
	r := newRig(t, map[string]string{"OMOI_CLAUDE_BIN": program, "ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": ""}).up()
	repo := r.repo()
	r.eventually("the worker reports the program", func() bool {
		hosts, err := r.api.Hosts(t.Context())
		return err == nil && len(hosts) == 1 && slices.Contains(hosts[0].Agents, task.AgentClaude)
	})

	refused := r.omoi("run", "x", "--repo", repo)
	require.Equal(t, 4, refused.code)
	require.Contains(t, refused.stderr, "Next: omoi credentials set anthropic")
	require.NotContains(t, refused.stderr, "npm install", "the program is there")
	require.Contains(t, r.omoi("doctor").stdout, "version 2.1.328, readable by sandboxes; no credential")

	_, err = r.api.SetCredential(t.Context(), "anthropic", apiclient.SetCredentialRequest{Secret: "sk-ant-api03-0123456789"})
	require.NoError(t, err)
	info, err := r.api.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, task.AgentClaude, info.DefaultAgent)
	require.Contains(t, r.omoi("doctor").stdout, "credential: anthropic of the user")
	made, _, err := r.api.CreateTask(t.Context(), apiclient.CreateTaskRequest{Repo: repo, Description: "x", MaxRetries: new(int)}, "")
	require.NoError(t, err)
	require.Equal(t, task.AgentClaude, made.Agent)
	r.ends(made.ID, task.StatusFailed) // the program does nothing else
}
