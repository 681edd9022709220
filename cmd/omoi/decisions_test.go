package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecisions_FormAndIndex requires of each record its title with its number, its sections, and one line of the index with the same title.
func TestDecisions_FormAndIndex(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "docs", "decisions")
	records, err := filepath.Glob(filepath.Join(folder, "0*.md"))
	require.NoError(t, err)
	require.Greater(t, len(records), 50)
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	for _, path := range records {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		name := filepath.Base(path)
		heading, _, _ := strings.Cut(string(text), "\n")
		require.Regexp(t, "^# "+name[:4]+": [A-Z0-9a-z]", heading)
		for _, part := range []string{"\nDate: 20", " Status: ", "\n## Context\n", "\n## Decision\n", "\n## Consequences\n"} {
			require.Contains(t, string(text), part, name)
		}
		if name[:4] != "0000" { // the template
			row := "- [" + strings.TrimPrefix(heading, "# ") + "](" + name + ")\n"
			require.Equal(t, 1, strings.Count(string(index), row), row)
		}
	}
}
