package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
)

// TestPhases_Table checks the defaults, and a configuration file that replaces some of them.
func TestPhases_Table(t *testing.T) {
	t.Parallel()
	table := load(t, config.Source{}).Phases.Table()
	for id, want := range map[string]string{
		"PHASE_BACKLOG": "implementer", "PHASE_REQUIREMENTS": "planner", "PHASE_DESIGN": "planner", "PHASE_IMPLEMENTATION": "implementer",
		"PHASE_TESTING": "implementer", "PHASE_DEPLOYMENT": "implementer", "PHASE_DONE": "coordinator", "PHASE_BLOCKED": "diagnostician",
	} {
		require.Equal(t, config.Phase{AgentType: want}, table[id], id)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "base.yaml"), []byte(`phases:
  testing:
    agent_type: tester
    tools: Read,Bash
    prompt: Run the tests first.
`), 0o600))
	table = load(t, config.Source{Environ: []string{"OMOI_CONFIG_DIR=" + dir}}).Phases.Table()
	require.Equal(t, config.Phase{AgentType: "tester", Tools: "Read,Bash", Prompt: "Run the tests first."}, table["PHASE_TESTING"])
	require.Equal(t, config.Phase{AgentType: "planner"}, table["PHASE_DESIGN"])
	_, err := config.Load(config.Source{Environ: []string{"OMOI_HOME=" + t.TempDir(), "OMOI_PHASES_DONE_AGENT_TYPE=validator"}})
	require.ErrorContains(t, err, "phases.done.agent_type")
}
