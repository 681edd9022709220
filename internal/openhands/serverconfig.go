package openhands

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// ConfigVariable is the variable with the path of a server's configuration.
const ConfigVariable = "OPENHANDS_AGENT_SERVER_CONFIG_PATH"

// bashRetention is for how many seconds a server keeps the commands of its shell, and what they printed.
const bashRetention = 3600

// NewConfig returns a configuration for a server that a user starts.
func NewConfig(keys Keys) map[string]any {
	return map[string]any{
		"session_api_keys": []string{keys.Session}, "secret_key": keys.Secret, "max_concurrent_runs": Runs, "bash_events_retention_seconds": bashRetention,
		"enable_vscode": false, "enable_vnc": false, "preload_tools": false,
	}
}

// settings are the keys of a server's configuration. The server ignores others.
//
//nolint:gochecknoglobals // a table
var settings = []string{
	"session_api_keys", "allow_cors_origins", "allow_cors_origin_regex", "conversations_path", "workspace_path", "conversation_worktree_root",
	"bash_events_dir", "bash_events_retention_seconds", "static_files_path", "webhooks", "enable_vscode", "vscode_port", "vscode_base_path",
	"enable_vnc", "preload_tools", "max_concurrent_runs", "secret_key", "previous_secret_keys", "web_url", "app_backend_public_url",
	"trust_forwarded_headers", "conversation_runtime", "conversation_runtime_selectable", "conversation_image", "conversation_image_has_browser",
	"enable_browser", "conversation_container_memory", "conversation_container_cpus", "conversation_container_pids_limit",
	"conversation_container_startup_timeout", "conversation_storage_disk_budget", "conversation_storage_retention_days", "acp_skill_sourcing",
	"registered_marketplaces", "deferred_init", "lease_ttl_seconds", "conversation_idle_ttl_seconds", "telemetry",
}

// renamed are keys of old examples, with what replaces them.
//
//nolint:gochecknoglobals // a table
var renamed = map[string]string{"session_api_key": "session_api_keys, a list", "webhook_url": "base_url"}

// CheckConfig returns what is wrong with the text of a server's configuration.
func CheckConfig(text []byte) (faults []string) {
	var c struct {
		Keys     []string         `json:"session_api_keys"`
		Secret   string           `json:"secret_key"`
		Kept     *int             `json:"bash_events_retention_seconds"`
		Webhooks []map[string]any `json:"webhooks"`
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return []string{fmt.Sprintf("it is no JSON object: %v", err)}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return []string{fmt.Sprintf("a setting has a wrong type: %v", err)}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch to := renamed[key]; {
		case to != "":
			faults = append(faults, key+": the server ignores it. Use "+to)
		case !slices.Contains(settings, key):
			faults = append(faults, key+": the server ignores it")
		}
	}
	for _, hook := range c.Webhooks {
		if hook["webhook_url"] != nil {
			faults = append(faults, "webhooks: the server ignores webhook_url. Use "+renamed["webhook_url"])
		}
	}
	if len(c.Keys) == 0 || slices.Contains(c.Keys, "") {
		faults = append(faults, "session_api_keys: without a key, anyone who reaches the server can run commands on it")
	}
	if c.Secret == "" {
		faults = append(faults, "secret_key: without one, a change of the session key loses the keys of models that the server has stored")
	}
	if c.Kept == nil {
		faults = append(faults, "bash_events_retention_seconds: without it, the server keeps each command of omoi for ever")
	}
	return faults
}
