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

// Variables with the program's credentials.
const (
	envKey     = "ANTHROPIC_API_KEY"
	envBearer  = "ANTHROPIC_AUTH_TOKEN" //nolint:gosec // the name of a variable
	envOAuth   = "CLAUDE_CODE_OAUTH_TOKEN"
	envBaseURL = "ANTHROPIC_BASE_URL"
)

// environ returns the environment of the program: that of every agent, its own configuration folder, and settings that
// disable traffic to servers other than the model API.
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

// credentials keeps one credential: a subscription has priority over a key. An endpoint without authentication gets the
// key "none", because the program requires a key.
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

// checkCredentials returns an error if the environment has no credential and no endpoint.
func checkCredentials(vars variables) error {
	if cmp.Or(vars[envOAuth], vars[envKey], vars[envBearer], vars[envBaseURL]) != "" {
		return nil
	}
	return agent.Failure(task.ClassCredentials, task.Errorf(task.CodeUnauthorized,
		"Cannot start Claude Code: the sandbox has no credential. Next: set an API key (%s), a subscription token (%s), or an endpoint that needs neither (%s); see docs/CLAUDE-CODE.md",
		envKey, envOAuth, envBaseURL).WithReason(task.NoCredential("anthropic")))
}

// configDir returns the folder of the program's sessions. The folder is outside of the workspace.
func configDir(env agent.Env) string { return filepath.Join(env.Config.Dir, "claude") }

// withoutCredentials returns an environment for commands that do not need the credentials.
func withoutCredentials(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == envKey || name == envBearer || name == envOAuth
	})
}
