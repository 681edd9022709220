package acp

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/task"
)

// Dialect is what omoi knows of an agent that speaks the protocol.
type Dialect struct {
	Name    string // value of the field agent
	Title   string // name for users
	Program string // name of the program on PATH
	Args    []string
	Install string // command that installs the tested version for all users
	Least   string // least version; the tested one
	// Environ returns the variables of the program by those of the task. The error says that a credential or a setting
	// is missing.
	Environ func(p Place, vars Vars) (Vars, error)
	// Files are written before the first start, by path.
	Files func(p Place) map[string]string
	// Mode is set in each session and read back; empty: the configuration decides.
	Mode string
	// ModeOf returns the mode that a message tells in a form of the agent's own; empty: none. Nil: it has no such form.
	ModeOf func(f *jsonrpc.Frame, u update) string
	// Steer is how a message reaches a running turn.
	Steer Steering
	// Session returns the pattern of the file with a session, and the path for it in another sandbox; nil: a session
	// cannot be moved to another sandbox.
	Session func(p Place, id string) (pattern, path string)
	// Folder matches the workspace in a session, as its first group; nil: the field cwd of a line names it.
	Folder *regexp.Regexp
	// Correct returns a function that corrects the lines of a session for another process, of which it returns nil for a line
	// to leave out; nil: all are right.
	Correct func() func(line []byte) []byte
	// Journal is how omoi follows the session of a program that keeps it in a database; nil: the program writes the file
	// of Session itself.
	Journal *Journal
	// NextMinute reports that a session may be loaded only after the minute in which it was created.
	NextMinute bool
	// Notice reports whether a piece of text is the program's own, as opposed to the model's; nil: none is.
	Notice func(u update) bool
	// Guesses reports that Notice goes by the beginning of a text, with which the model may begin one too.
	Guesses bool
	// SumsTokens reports that each turn reports the tokens of all turns since the program started.
	SumsTokens bool
	// Endpoint is the kind of credential with which a task sets the endpoint of the model; empty: that of the agent.
	Endpoint string
	// Command returns the command that speaks the protocol for the program at a path; nil: the program itself, with Args.
	Command func(path string) ([]string, error)
	// Remote reports that the variables of the task name a server, so that the sandbox needs no program; nil: it always does.
	Remote func(vars Vars) bool
	// Probe returns the version of the program at a path; nil: the program names it in answer to initialize.
	Probe func(ctx context.Context, path string, environ []string) (string, error)
	// Patience is the time for an answer that needs no model; zero: defaultPatience.
	Patience time.Duration
	// Mute reports that the agent repeats a rate limit without a word and without an end, so that it looks like an
	// endpoint that does not answer.
	Mute bool
}

// Vars is the environment of a program.
type Vars = map[string]string

// Place has the folders of an agent.
type Place struct {
	Home string // of the user of the sandbox
	Dir  string // of omoi-agent, outside of the workspace
	Work string // the workspace
}

func placeOf(env agent.Env, vars Vars) Place {
	return Place{Home: vars["HOME"], Dir: env.Config.Dir, Work: env.Config.Workspace}
}

// Steering is how a message reaches a running turn.
type Steering string

// Ways of steering.
const (
	SteerAfter  Steering = "after the turn" // the message waits for the end of the turn
	SteerInject Steering = "extension"      // request _session/steering
	SteerFold   Steering = "second prompt"  // a second prompt joins the running turn
	SteerPull   Steering = "pull"           // the agent asks for messages between requests to the model
)

// dialects is the table of dialects by name.
//
//nolint:gochecknoglobals // each dialect is a file that adds itself
var dialects = map[string]Dialect{}

// register adds a dialect, and returns it for the variable with which its file calls register.
func register(d Dialect) Dialect { //nolint:unparam // a variable needs a value
	dialects[d.Name] = d
	return d
}

// Of returns the dialect of an agent.
func Of(name string) (Dialect, bool) {
	d, ok := dialects[name]
	return d, ok
}

// Names returns the names of all dialects.
func Names() []string { return slices.Sorted(maps.Keys(dialects)) }

// credential returns the kind of credential that the agent gets.
func (d Dialect) credential() string { return cmp.Or(task.RuntimeOf(d.Name).Credential, "anthropic") }

// VarsAt returns the variables of a task whose model is at the address of a server.
func (d Dialect) VarsAt(address, model, key string) Vars {
	kind := cmp.Or(d.Endpoint, d.credential())
	if kind == "openai" || kind == "openrouter" || kind == "llm" {
		address += "/v1"
	}
	if kind == "llm" {
		model = "openai/" + model
	}
	kind = strings.ToUpper(kind)
	return Vars{"MODEL": model, kind + "_API_KEY": key, kind + "_BASE_URL": address}
}

// noCredential is the error of an agent without a credential.
func noCredential(title, kind string) error {
	return agent.Failure(task.ClassCredentials, task.Errorf(task.CodeUnauthorized,
		"Cannot start %s: the sandbox has no credential. Next: omoi credentials set %s; see docs/CODING-AGENTS.md", title, kind).WithReason(task.NoCredential(kind)))
}

// noModel is the error of an agent for which the task must name a model.
func noModel(title, kind string) error {
	return task.Invalid("env", "Cannot start %s: no model is named. Next: omoi credentials set %s --model NAME, or set MODEL in env of execution_config; see docs/CODING-AGENTS.md", title, kind)
}

// access is how an agent reaches the models of a provider.
type access struct{ key, base, model string }

// accessOf returns the access by a credential of a kind, whose variables begin with the kind in upper case.
func accessOf(vars Vars, kind string) access {
	prefix := strings.ToUpper(kind)
	model := vars["MODEL"]
	if model == "" {
		model = vars[prefix+"_MODEL"]
	}
	return access{vars[prefix+"_API_KEY"], vars[prefix+"_BASE_URL"], model}
}

// none reports that there is neither a key nor an endpoint that needs none.
func (a access) none() bool { return a.key == "" && a.base == "" }

// set returns vars with more, of which an empty value removes the variable.
func set(vars, more Vars) Vars {
	all := maps.Clone(vars)
	for name, value := range more {
		if all[name] = value; value == "" {
			delete(all, name)
		}
	}
	return all
}

// older reports whether a version is older than the least one. A version that is no version counts as old.
func older(version, least string) bool {
	have, want := numbers(version), numbers(least)
	return slices.Compare(have, want) < 0
}

// numbers returns the numbers of a version up to the first part that is none.
func numbers(version string) (all []int) {
	version, _, _ = strings.Cut(version, "-")
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return all
		}
		all = append(all, n)
	}
	return all
}
