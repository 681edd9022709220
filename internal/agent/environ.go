package agent

import (
	"cmp"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

// environ returns the environment of the agent's program and its commands: a clean environment, the variables that
// legacy workers read, and the variables of the configuration, which override both. The sandbox token is not included.
func environ(cfg agentconfig.Config, resume *Resume, restored, hooked string) []string {
	env := map[string]string{
		"PATH": cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin"), "HOME": home(cfg),
		"SANDBOX_ID": cfg.SandboxID, "TASK_ID": cfg.TaskID, "AGENT_ID": agentID(cfg), "IS_SANDBOX": "1",
		"WORKSPACE_PATH": cfg.Workspace, "CWD": cfg.Workspace, "EXECUTION_MODE": cmp.Or(cfg.Mode, "implementation"),
		"CONTINUOUS_MODE": strconv.FormatBool(cfg.Continuous), "TICKET_TITLE": cfg.Title, "TICKET_DESCRIPTION": cfg.Description,
	}
	for _, name := range []string{"LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	if cfg.Repo != nil {
		env["BRANCH_NAME"] = cfg.Repo.Branch
	}
	if strings.HasPrefix(cfg.APIURL, "http") { // a socket or mailbox is of no use to a program
		env["CALLBACK_URL"], env["OMOIOS_API_URL"] = cfg.APIURL, cfg.APIURL
	}
	if hooked != "" {
		env["OMOI_HOOK"] = hooked
	}
	if restored != "" {
		env["OMOI_RESTORED"] = restored
	}
	maps.Copy(env, cfg.Env)
	maps.Copy(env, resumeEnv(cfg, resume))
	return Environ(env)
}

func home(cfg agentconfig.Config) string {
	return cmp.Or(os.Getenv("HOME"), filepath.Join(cfg.Dir, "home"))
}

// Environ returns variables as NAME=value, sorted by name.
func Environ(vars map[string]string) []string {
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}

// Variables returns an environment as a map. The last value of a name counts.
func Variables(environ []string) map[string]string {
	vars := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// maxSessionEnv is the longest transcript in bytes that is passed in a variable. Linux allows 128 KiB for a variable,
// and base64 adds a third.
const maxSessionEnv = 90 << 10

// resumeEnv returns the variables that name the session to resume. A legacy worker reads the transcript from a
// variable.
func resumeEnv(cfg agentconfig.Config, resume *Resume) map[string]string {
	if resume == nil {
		return nil
	}
	env := map[string]string{"RESUME_SESSION_ID": resume.SessionID, "SESSION_TRANSCRIPT_PATH": resume.Path}
	if task.RuntimeOf(cfg.Runtime).Input != task.InputCommand {
		return env
	}
	if text, err := os.ReadFile(resume.Path); err == nil && len(text) <= maxSessionEnv {
		env["SESSION_TRANSCRIPT_B64"] = base64.StdEncoding.EncodeToString(text)
	}
	return env
}
