package claude

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/task"
)

// Names of the environment from which the program takes its credentials.
const (
	envKey     = "ANTHROPIC_API_KEY"
	envBearer  = "ANTHROPIC_AUTH_TOKEN" //nolint:gosec // a name
	envOAuth   = "CLAUDE_CODE_OAUTH_TOKEN"
	envBaseURL = "ANTHROPIC_BASE_URL"
)

// environ is what the program sees: the contract of every agent, its own folder, and no word
// to anybody but the model.
func environ(env agent.Env, vars variables) []string {
	all := maps.Clone(vars)
	limit := strconv.FormatInt(env.Config.ToolTimeout.Milliseconds(), 10)
	maps.Copy(all, variables{
		"CLAUDE_CONFIG_DIR": configDir(env), "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "BASH_MAX_TIMEOUT_MS": limit,
	})
	credentials(all)
	return agent.Environ(all)
}

// credentials leaves one: a subscription goes before a key of either kind, and an endpoint that asks for none
// gets a word that says so, since the program insists on one.
func credentials(vars variables) {
	switch {
	case vars[envOAuth] != "":
		delete(vars, envKey)
		delete(vars, envBearer)
	case vars[envKey] == "" && vars[envBearer] == "" && vars[envBaseURL] != "":
		vars[envKey] = "none"
	}
	for _, name := range []string{envOAuth, envKey, envBearer, envBaseURL} {
		if vars[name] == "" {
			delete(vars, name)
		}
	}
}

// checkCredentials refuses to begin without any.
func checkCredentials(vars variables) error {
	if cmp.Or(vars[envOAuth], vars[envKey], vars[envBearer], vars[envBaseURL]) != "" {
		return nil
	}
	return agent.Failure(task.ClassCredentials, task.Errorf(task.CodeUnauthorized,
		"Cannot start Claude Code: the sandbox has no credential. Next: set an API key (%s), a subscription token (%s), or an endpoint that needs neither (%s); see docs/CLAUDE-CODE.md",
		envKey, envOAuth, envBaseURL).WithReason(task.NoCredential("anthropic")))
}

// configDir is where the program keeps its sessions: in the agent's folder, not in the work.
func configDir(env agent.Env) string { return filepath.Join(env.Config.Dir, "claude") }

// withoutCredentials is an environment for commands that have no use for them.
func withoutCredentials(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == envKey || name == envBearer || name == envOAuth
	})
}
