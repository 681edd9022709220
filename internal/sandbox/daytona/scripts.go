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
)

// The scripts are for any POSIX shell, with the usual small tools: grep, cut, tee, base64.
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
	text, _ := scripts.ReadFile("scripts/" + name + ".sh") // it is compiled in
	return string(text)
}

// library is what all scripts begin with: the places, and the functions.
func library() string {
	return "ctl=" + sandbox.Quoted(dirCtl) + " place_dir=" + sandbox.Quoted(placeDir) + " place_workspace=" + sandbox.Quoted(placeWorkspace) +
		" place_home=" + sandbox.Quoted(placeHome) + "\n" + scriptText(scriptLib)
}

// commandLine is a shell command that runs a script with what all of them share. The shell that
// takes it may be any; the script runs under sh.
func commandLine(name string, args ...string) string {
	return "sh -c " + sandbox.Quoted(library()+scriptText(name)) + " omoi " + sandbox.Quoted(args...)
}

// envFile is the environment of a command as a script to be read by sh, with where it starts
// and what it runs. It holds secrets: mode 0600, removed as soon as it was read.
func envFile(cmd sandbox.Command) string {
	env := map[string]string{}
	maps.Copy(env, cmd.Env)
	env["HOME"], env[sandbox.EnvDir], env[sandbox.EnvWorkspace] = placeHome, placeDir, placeWorkspace
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s=%s\n", key, sandbox.Quoted(env[key]))
	}
	args := make([]string, 0, len(cmd.Args))
	for _, arg := range cmd.Args {
		args = append(args, places.Translate(arg))
	}
	dir := places.Translate(cmp.Or(cmd.Dir, sandbox.Workspace))
	fmt.Fprintf(&b, "OMOI_START=%s\nOMOI_ARGS=%s\n", sandbox.Quoted(dir), sandbox.Quoted(sandbox.Quoted(args...)))
	return b.String()
}

// newTag is the mark of a process tree: a limit of 1 to 2 TiB of resident memory, in KiB.
func newTag() string { return strconv.FormatInt(1<<30+rand.Int64N(1<<30), 10) } //nolint:gosec // G404: it need not be secret
