package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultProvider_WithoutBubblewrapIsDocker(t *testing.T) {
	t.Parallel()
	require.Equal(t, "local", usualSandbox("linux"))
	require.Equal(t, "docker", usualSandbox("darwin"))
}
