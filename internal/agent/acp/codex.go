package acp

import (
	"encoding/json"
	"path/filepath"
)

var _ = register(Dialect{
	Name: "codex", Title: "Codex", Program: "codex-acp",
	Install: "npm install --prefix /usr/local -g @agentclientprotocol/codex-acp@2.6.0", Least: "2.6.0",
	Environ: codexEnviron,
	// Codex starts only if its folder exists.
	Files: func(p Place) map[string]string {
		return map[string]string{filepath.Join(codexHome(p), "config.toml"): ""}
	},
	// Codex's own sandbox makes .git read-only, so that it could not commit; omoi's sandbox isolates it.
	Mode: "agent-full-access", Steer: SteerInject,
	Notice: func(u update) bool { return u.MessageID == "" },
	Session: func(p Place, id string) (pattern, path string) {
		sessions := filepath.Join(codexHome(p), "sessions")
		return filepath.Join(sessions, "*", "*", "*", "rollout-*"+id+".jsonl"), filepath.Join(sessions, "2026", "01", "01", "rollout-2026-01-01T00-00-00-"+id+".jsonl")
	},
})

func codexHome(p Place) string { return filepath.Join(p.Dir, "codex") }

func codexEnviron(p Place, vars Vars) (Vars, error) {
	to := accessOf(vars, "openai")
	if to.none() {
		return nil, noCredential("Codex", "openai")
	}
	config := map[string]any{}
	if to.model != "" {
		config["model"] = to.model
	}
	if to.base != "" {
		config["model_provider"] = "omoi"
		config["model_providers"] = map[string]any{"omoi": map[string]any{
			"name": "omoi", "base_url": to.base, "env_key": "OPENAI_API_KEY", "wire_api": "responses", "supports_websockets": false,
		}}
	}
	text, _ := json.Marshal(config) //nolint:errchkjson // JSON values
	key := to.key
	if key == "" {
		key = "none" // the program requires a key, also for an endpoint that needs none
	}
	return set(vars, Vars{
		"OPENAI_API_KEY": key, "CODEX_HOME": codexHome(p), "NO_BROWSER": "1", "CODEX_CONFIG": string(text), "INITIAL_AGENT_MODE": "agent-full-access",
		"CODEX_ACP_PROMPT_SUGGESTIONS": "false", // after each turn, a request to the model for what the user may say next
	}), nil
}
