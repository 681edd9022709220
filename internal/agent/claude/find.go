package claude

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// Bin is the variable with the path of the program, if it is not on PATH.
const Bin = "OMOI_CLAUDE_BIN"

const versionWait = time.Minute

// Install is the command that installs the newest tested version for all users.
const Install = "npm install --prefix /usr/local -g @anthropic-ai/claude-code@2.1.328"

// variables is the environment of the agent's program.
type variables = map[string]string

// find returns the path of Claude Code and its version.
func find(ctx context.Context, env agent.Env, vars variables) (path, version string, err error) {
	path = agent.Locate(vars, "claude", vars[Bin])
	if path == "" {
		return "", "", task.Invalid("agent", "Cannot start Claude Code: the sandbox has no program claude. Next: install it in the setup step of the project (npm install --prefix ~/.local -g @anthropic-ai/claude-code@2.1.328) or in the image, or set its path in %s; see docs/CLAUDE-CODE.md", Bin)
	}
	res, err := env.Procs.Run(ctx, proc.Command{
		Args: []string{path, "--version"}, Dir: env.Config.Workspace, Env: environ(env, vars), Timeout: versionWait,
	})
	if err != nil {
		return "", "", task.Invalid("agent", "Cannot start the program %s: %s.", path, err)
	}
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	version, err = VersionOf(path, res)
	return path, version, err
}

var versionForm = regexp.MustCompile(`^(\d+)\.\d+\.\d+\S*`)

// VersionOf returns the version in the output of claude --version. Only version 2 is supported, because the format of
// the lines depends on the major version.
func VersionOf(path string, res proc.Result) (string, error) {
	said := strings.TrimSpace(res.Output)
	found := versionForm.FindStringSubmatch(said)
	switch {
	case res.Outcome != proc.Exited || res.ExitCode != 0:
		return "", task.Invalid("agent", "Cannot start Claude Code: %s --version exited with code %d (%s): %s", path, res.ExitCode, res.Outcome, textcut.First(said, 300))
	case found == nil:
		return "", task.Invalid("agent", "Cannot start Claude Code: %s --version printed %q, which is not a version of Claude Code.", path, textcut.First(said, 300))
	case found[1] != "2":
		return "", task.Invalid("agent", "%s is Claude Code %s, which this version of omoi does not support. Next: install 2.x (tested: 2.1.197 and 2.1.328)", path, found[0])
	}
	return found[0], nil
}
