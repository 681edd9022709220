package api_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// The documented maximum lengths of bodies are those of the server.
func TestBodyLimits_MatchTheDocument(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	w := open(t)
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	guide, err := os.ReadFile("../docs/API.md")
	require.NoError(t, err)
	for _, c := range []struct {
		method, route, path, text string
		limit                     int
		guide                     string
	}{
		{
			http.MethodPost, "/api/v1/sandboxes/{sandbox_id}/events", wire + "b/events",
			"At most 1 MiB, unpacked; of agent.completed", mib, "one event | 1 MiB",
		},
		{
			http.MethodPost, "/api/v1/sandboxes/{sandbox_id}/events/batch", wire + "b/events/batch", "At most 4 MiB, unpacked",
			4 * mib, "a batch | 4 MiB",
		},
		{
			http.MethodPut, "/api/v1/sandboxes/{sandbox_id}/transcripts/{run_id}", wire + "b/transcripts/r",
			"At most 4 MiB, unpacked", 4 * mib, "a piece of a transcript | 4 MiB",
		},
		{
			http.MethodPut, "/api/v1/sandboxes/{sandbox_id}/checkpoints/{checkpoint}/pack", wire + "b/checkpoints/1/pack",
			"At most 4 MiB, unpacked", 4 * mib, "a chunk of a checkpoint's pack | 4 MiB",
		},
		{
			http.MethodPut, "/api/v1/sandboxes/{sandbox_id}/checkpoints/{checkpoint}", wire + "b/checkpoints/1",
			"At most 65536 bytes, unpacked", 64 << 10, "the description of a checkpoint | 64 KiB",
		},
		{http.MethodPost, "/api/v1/tasks", "/api/v1/tasks", "At most 1 MiB, unpacked", mib, "every other body | 1 MiB"},
	} {
		said := doc.Paths.Find(c.route).GetOperation(c.method).RequestBody.Value.Description
		require.True(t, strings.HasPrefix(said, c.text), "%s: %s", c.route, said)
		require.Contains(t, string(guide), c.guide)
		require.NotEqual(t, http.StatusRequestEntityTooLarge,
			w.call(c.method, c.path, strings.Repeat("x", c.limit)).status, c.route)
		w.call(c.method, c.path, strings.Repeat("x", c.limit+1)).refused(http.StatusRequestEntityTooLarge, "")
	}
}
