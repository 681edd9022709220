package acp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/acp"
)

func TestVersion_AsksTheProgram(t *testing.T) {
	t.Parallel()
	dialect, _ := acp.Of("gemini")
	for does, want := range map[string]string{
		`read -r said; echo noise; echo '{"id":1,"result":{"agentInfo":{"version":"0.61.0"}}}'; sleep 1000`: "",
		`read -r said; echo '{"id":1,"result":{"agentInfo":{"version":"0.60.0"}}}'`:                         "older than 0.61.0",
		`read -r said; echo '{"id":1,"error":{"code":-1,"message":"no"}}'`:                                  "gave no answer",
		`exit 3`: "gave no answer",
	} {
		path := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+does+"\n"), 0o755))
		version, err := dialect.Version(t.Context(), path, t.TempDir(), os.Environ())
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "0.61.0", version)
	}
}
