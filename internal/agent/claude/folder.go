package claude

import (
	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/claudesession"
)

// transcriptPath returns the path of a session of this workspace.
func transcriptPath(env agent.Env, session string) string {
	return claudesession.Path(configDir(env), env.Config.Workspace, session)
}
