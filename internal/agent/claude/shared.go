package claude

import (
	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// SystemPrompt returns what every agent of omoi knows beside its task.
func SystemPrompt(env agent.Env, vars map[string]string) string { return systemPrompt(env, vars) }

// FirstPrompt returns the first prompt of an attempt. begun reports that the session continues that of an earlier
// attempt.
func FirstPrompt(env agent.Env, begun bool) string { return firstPrompt(env, &place{Begun: begun}) }

// Worded returns a message as the model gets it.
func Worded(m inbox.Message) string { return worded(m) }
