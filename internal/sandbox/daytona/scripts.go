package daytona

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/shellcmd"
)

// The scripts run in any POSIX shell with common tools: grep, cut, tee, base64.
//
//go:embed scripts/*.sh
var scripts embed.FS

// Names of scripts.
const (
	scriptFurnish = "furnish"
	scriptLib     = "lib"
	scriptAgent   = "agent"
	scriptLook    = "look"
	scriptStop    = "stop"
	scriptExec    = "exec"
	scriptMore    = "more"
	scriptShell   = "shell"
	scriptLeave   = "leave"
	scriptRead    = "read"
	scriptPlace   = "place"
	scriptRemove  = "remove"
	scriptPrivate = "private"
)

func scriptText(name string) string {
	text, _ := scripts.ReadFile("scripts/" + name + ".sh") // embedded, so it cannot fail
	return string(text)
}

// library returns the common start of all scripts: the places and the functions.
func library() string {
	return "ctl=" + shellcmd.Line(dirCtl) + " place_dir=" + shellcmd.Line(placeDir) + " place_workspace=" + shellcmd.Line(placeWorkspace) +
		" place_home=" + shellcmd.Line(placeHome) + "\n" + scriptText(scriptLib)
}

// commandLine returns a command line that runs a script with the library under sh, for any shell.
func commandLine(name string, args ...string) string {
	return "sh -c " + shellcmd.Line(library()+scriptText(name)) + " omoi " + shellcmd.Line(args...)
}

// envFile returns a sh script that sets the environment, directory and arguments of a command. The script contains
// secrets: the file has mode 0600 and is removed when it is read.
func envFile(cmd sandbox.Command) string {
	env := map[string]string{}
	maps.Copy(env, cmd.Env)
	env["HOME"], env[sandbox.EnvDir], env[sandbox.EnvWorkspace] = placeHome, placeDir, placeWorkspace
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s=%s\n", key, shellcmd.Line(env[key]))
	}
	args := make([]string, 0, len(cmd.Args))
	for _, arg := range cmd.Args {
		args = append(args, places.Translate(arg))
	}
	dir := places.Translate(cmp.Or(cmd.Dir, sandbox.Workspace))
	fmt.Fprintf(&b, "OMOI_START=%s\nOMOI_ARGS=%s\n", shellcmd.Line(dir), shellcmd.Line(shellcmd.Line(args...)))
	return b.String()
}

// newTag returns a random mark of a process tree: a limit of 1 to 2 TiB of resident memory, in KiB.
func newTag() string { return strconv.FormatInt(1<<30+rand.Int64N(1<<30), 10) } //nolint:gosec // G404: not a secret
