package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContributing_NamesFilesThatExist checks each path in backticks.
func TestContributing_NamesFilesThatExist(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("`([a-z][\\w./-]*/[\\w./-]*)`").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(named), 30)
	for _, path := range named {
		_, err := os.Stat(filepath.Join(root, path[1]))
		require.NoError(t, err)
	}
}
