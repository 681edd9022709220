package api

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTagsOfOperations_AreDescribed(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]struct {
			Tags []string `json:"tags"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(content, &doc))
	described, legacy := map[string]bool{}, 0
	for _, tag := range tags() {
		require.NotEmpty(t, tag.Description, tag.Name)
		described[tag.Name] = true
	}
	for path, item := range doc.Paths {
		for method, operation := range item {
			for _, tag := range operation.Tags {
				require.True(t, described[tag], "%s %s: %s", method, path, tag)
			}
			require.NotEqual(t, tagLegacy, operation.Tags[0], "%s %s: its resource comes first", method, path)
			if slices.Contains(operation.Tags, tagLegacy) {
				require.True(t, isLegacy(strings.ToUpper(method), path))
				legacy++
			}
		}
	}
	require.Equal(t, 35, legacy, "12 of sandboxes, 4 of branches, 4 of monitoring, 6 of the guardian, 9 below /legacy")
}
