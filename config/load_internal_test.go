package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSandboxesAreContainersWhereThereIsNoBubblewrap(t *testing.T) {
	t.Parallel()
	require.Equal(t, "local", usualSandbox("linux"))
	require.Equal(t, "docker", usualSandbox("darwin"))
}
