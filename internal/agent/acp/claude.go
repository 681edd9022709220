package acp

import (
	"cmp"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/claudesession"
)

// Claude is the name of Claude Code behind its adapter. It serves comparisons: tasks run by the runtime claude.
const Claude = "claude-acp"

var _ = register(Dialect{
	Name: Claude, Title: "Claude Code by its adapter", Program: "claude-agent-acp",
	Install: "npm install --prefix /usr/local -g @agentclientprotocol/claude-agent-acp@0.101.0", Least: "0.101.0",
	Environ: claudeEnviron,
	// In its mode auto, another model judges each command.
	Mode: "acceptEdits", Steer: SteerInject,
	Notice: func(u update) bool { return u.Meta.Claude.Kind != "" },
	Session: func(p Place, id string) (pattern, path string) {
		path = claudesession.Path(filepath.Join(p.Dir, "claude"), p.Work, id)
		return path, path
	},
})

func claudeEnviron(p Place, vars Vars) (Vars, error) {
	if cmp.Or(vars["CLAUDE_CODE_OAUTH_TOKEN"], vars["ANTHROPIC_API_KEY"], vars["ANTHROPIC_AUTH_TOKEN"], vars["ANTHROPIC_BASE_URL"]) == "" {
		return nil, noCredential("Claude Code", "anthropic")
	}
	return set(vars, Vars{
		"CLAUDE_CONFIG_DIR": filepath.Join(p.Dir, "claude"), "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}), nil
}
