package claude

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// Bin names the program where it is not on PATH.
const Bin = "OMOI_CLAUDE_BIN"

const versionWait = time.Minute

// Install is the command that installs the newest tested version for all users.
const Install = "npm install --prefix /usr/local -g @anthropic-ai/claude-code@2.1.328"

// variables are the environment of the agent's program by name.
type variables = map[string]string

// find answers the path of Claude Code, and its version.
func find(ctx context.Context, env agent.Env, vars variables) (path, version string, err error) {
	path = locate(vars)
	if path == "" {
		return "", "", task.Invalid("agent", "There is no program claude in this sandbox. Install it in the project's setup step (npm install --prefix ~/.local -g @anthropic-ai/claude-code@2.1.328), bring it along in the image, or name it with %s; docs/CLAUDE-CODE.md says more.", Bin)
	}
	res, err := env.Procs.Run(ctx, proc.Command{
		Args: []string{path, "--version"}, Dir: env.Config.Workspace, Env: environ(env, vars), Timeout: versionWait,
	})
	if err != nil {
		return "", "", task.Invalid("agent", "The program %s cannot be started: %s.", path, err)
	}
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	version, err = VersionOf(path, res)
	return path, version, err
}

// locate tells where Claude Code is: where it was said to be, on PATH, or where its own
// installers put it.
func locate(vars variables) string {
	places := []string{vars[Bin]}
	for _, dir := range filepath.SplitList(vars["PATH"]) {
		places = append(places, filepath.Join(dir, "claude"))
	}
	for _, dir := range []string{".local/bin", ".claude/local", "node_modules/.bin", ".npm-global/bin"} {
		places = append(places, filepath.Join(vars["HOME"], dir, "claude"))
	}
	for _, path := range places {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

var versionForm = regexp.MustCompile(`^(\d+)\.\d+\.\d+\S*`)

// VersionOf reads what `claude --version` says. Its main version is what the lines hang on.
func VersionOf(path string, res proc.Result) (string, error) {
	said := strings.TrimSpace(res.Output)
	found := versionForm.FindStringSubmatch(said)
	switch {
	case res.Outcome != proc.Exited || res.ExitCode != 0:
		return "", task.Invalid("agent", "%s --version ended with exit code %d (%s), so this is no Claude Code that works: %s", path, res.ExitCode, res.Outcome, textcut.First(said, 300))
	case found == nil:
		return "", task.Invalid("agent", "%s --version says %q, which is no version of Claude Code.", path, textcut.First(said, 300))
	case found[1] != "2":
		return "", task.Invalid("agent", "%s is Claude Code %s, which this version of omoi does not know; it works with 2.x (checked: 2.1.197 and 2.1.328). Install one of those.", path, found[0])
	}
	return found[0], nil
}
