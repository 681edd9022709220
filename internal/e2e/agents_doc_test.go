package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestAgentsDocument pastes the example of an agent that connects itself, on whatever port the API is.
func TestAgentsDocument(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	app := filepath.Join(r.env["HOME"], "src", "app")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", app},
		{"-C", app, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		require.Zero(t, r.run("git", args...).code)
	}
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "checkout"), 0o755))
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "AGENTS-AND-SCRIPTS.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```bash\n(field.*?)```").FindStringSubmatch(string(raw))
	require.Len(t, block, 2)
	state := filepath.Join(r.dir, "state.sh")
	require.NoError(t, os.WriteFile(state, nil, 0o600))
	r.env["PATH"] = bin + ":" + r.env["PATH"]
	r.shell(block[1], state)
	page, err := r.api.Tasks(t.Context(), apiclient.TaskFilter{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	got := r.ends(page.Items[0].ID, task.StatusCompleted)
	require.Equal(t, task.AgentExternal, got.Agent)
	require.Equal(t, int64(3), got.Attempts[0].Events)
}
