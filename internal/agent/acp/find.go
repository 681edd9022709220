package acp

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/task"
)

// Bin returns the variable with the path of the program, if it is not on PATH.
func (d Dialect) Bin() string {
	return "OMOI_" + strings.ToUpper(strings.ReplaceAll(d.Name, "-", "_")) + "_BIN"
}

// find returns the path of the program: the one in the variable, the one of the host, on PATH, or in the folders of its
// installers.
func (d Dialect) find(env agent.Env, vars Vars) (string, error) {
	if d.Remote != nil && d.Remote(vars) {
		return "", nil
	}
	if path := agent.Locate(vars, d.Program, vars[d.Bin()], env.Config.Program); path != "" {
		return path, nil
	}
	return "", task.Invalid("agent", "Cannot start %s: the sandbox has no program %s. Next: install it in the setup step of the project or in the image (%s), or set its path in %s; see docs/CODING-AGENTS.md", d.Title, d.Program, d.Install, d.Bin())
}

// command returns the command that speaks the protocol.
func (d Dialect) command(path string) ([]string, error) {
	if d.Command != nil {
		return d.Command(path)
	}
	return append([]string{path}, d.Args...), nil
}

// CheckVersion returns an error if a version is older than the least one that omoi supports.
func (d Dialect) CheckVersion(version string) error {
	if !older(version, d.Least) {
		return nil
	}
	return task.Invalid("agent", "Cannot start %s: version %q is older than %s, the least version that omoi supports. Next: %s", d.Title, version, d.Least, d.Install)
}
