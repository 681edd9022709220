package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/omoi-dev/omoi/config"
)

// environments returns the variables of the omoi services in docker-compose.temporal.yml.
func environments(t *testing.T) map[string]map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "docker-compose.temporal.yml"))
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(content, &document))
	found := map[string]map[string]string{}
	for name, service := range document["services"].(map[string]any) {
		service := service.(map[string]any)
		if service["image"] != "omoi:local" {
			continue
		}
		found[name] = map[string]string{}
		for variable, value := range service["environment"].(map[string]any) {
			found[name][variable] = value.(string)
		}
	}
	return found
}

// The compose file names existing settings with valid values.
func TestCompose_UsesValidSettings(t *testing.T) {
	t.Parallel()
	services := environments(t)
	require.Contains(t, services, "api")
	require.Contains(t, services, "worker")
	require.Contains(t, services, "migrate")
	fallback := regexp.MustCompile(`^\$\{\w+:-(.*)\}$`)
	for name, variables := range services {
		var environ []string
		for variable, value := range variables {
			require.True(t, slices.Contains(config.EnvNames(), variable), "%s: %s is not a setting", name, variable)
			if parts := fallback.FindStringSubmatch(value); parts != nil {
				value = parts[1]
			}
			environ = append(environ, variable+"="+value)
		}
		loaded := load(t, config.Source{Environ: environ})
		require.Empty(t, loaded.Warnings)
		require.Equal(t, "0.0.0.0", loaded.API.Host)
		require.False(t, loaded.API.AuthDisabled)
		require.NotEmpty(t, loaded.API.Key.Reveal())
	}
}

// The compose file publishes its ports on loopback only.
func TestComposeListensOnLoopback(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "docker-compose.temporal.yml"))
	require.NoError(t, err)
	ports := regexp.MustCompile(`ports: \[(.*)\]`).FindAllStringSubmatch(string(content), -1)
	require.NotEmpty(t, ports)
	for _, port := range ports {
		require.True(t, strings.HasPrefix(port[1], `"127.0.0.1:`), port[0])
	}
}

// The image is built with a Go version that go.mod accepts.
func TestDockerfile_HasTheModulesGoVersion(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	image, err := os.ReadFile(filepath.Join("..", "Dockerfile"))
	require.NoError(t, err)
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	require.NotNil(t, want)
	require.Contains(t, string(image), "golang:"+string(want[1])+"-")
}
