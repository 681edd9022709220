package token_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/token"
)

func TestWhatHasTheFormOfATokenIsHidden(t *testing.T) {
	t.Parallel()
	ring, err := token.NewRing(key("k-1", "a"), nil)
	require.NoError(t, err)
	mine := ring.Mint("sandbox")
	for text, want := range map[string]string{
		mine: "[redacted]",
		"A=http://h/t/" + mine + "\nB=" + mine + ", " + mine[:40] + "!": "A=http://h/t/[redacted]\nB=[redacted], [redacted]!",
		"v1." + mine:              "v1.[redacted]",
		"line\n" + mine + "\n":    "line\n[redacted]\n",
		mine[:20]:                 mine[:20],
		"v1.2.3 and v1." + "beta": "v1.2.3 and v1.beta",
		"v1.a b." + mine[7:]:      "v1.a b." + mine[7:],
		"v1." + strings.Repeat("i", 41) + "." + mine[7:]: "v1." + strings.Repeat("i", 41) + "." + mine[7:],
		"v1.k8s.io/api/core.PersistentVolumeClaimSpec":   "v1.k8s.io/api/core.PersistentVolumeClaimSpec",
		"": "",
	} {
		require.Equal(t, want, string(token.Hide([]byte(text))))
		require.Equal(t, want, token.HideIn(text))
		covered := string(token.Cover([]byte(text)))
		require.Len(t, covered, len(text))
		require.Equal(t, strings.Count(want, "[redacted]"), strings.Count(covered, "[redacted]"))
		require.False(t, token.Holds(covered))
		inJSON, err := json.Marshal(map[string]string{"text": text})
		require.NoError(t, err)
		var got map[string]string
		require.NoError(t, json.Unmarshal(token.Hide(inJSON), &got))
		require.Equal(t, want, got["text"])
	}
}

func TestNothingIsAllocatedWhereNoTokenStands(t *testing.T) { //nolint:paralleltest // allocations of others would count
	event := []byte(`{"tool": "Bash", "text": "` + strings.Repeat("v1.2 of x, ", 30) + `"}`)
	require.Zero(t, testing.AllocsPerRun(10, func() { token.Hide(event) }))
	require.Equal(t, &event[0], &token.Hide(event)[0])
}

func BenchmarkHide(b *testing.B) {
	event := []byte(`{"turn": 12, "tool": "Bash", "tool_use_id": "toolu_0123456789", "input": {"command": "` + strings.Repeat("x", 220) + `"}}`)
	for b.Loop() {
		token.Hide(event)
	}
}
