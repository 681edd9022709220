package taskcmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/docs/examples"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxText limits the bytes read of a text or file. The limit is above that of the server, so that the server reports
// its own limit.
const maxText = 8 << 20

// request returns the request body for the command line. The repository is determined last, since this needs the file
// system.
func (r *run) request(cmd *cobra.Command, args []string) (in client.CreateTaskRequest, err error) {
	if err := r.checkFlags(cmd); err != nil {
		return in, err
	}
	text, err := r.text(args)
	if err == nil {
		in, err = r.settings(cmd)
	}
	in.Description = text
	if err == nil && r.project == "" {
		in.Repo, err = r.repository(cmd.Context())
	}
	return in, err
}

// settings returns a request without text and repository.
func (r *run) settings(cmd *cobra.Command) (client.CreateTaskRequest, error) {
	var none client.CreateTaskRequest
	execution, err := r.executionConfig()
	if err != nil {
		return none, err
	}
	contract := ""
	if r.contract != "" {
		if contract, err = r.readContract(r.contract); err != nil {
			return none, err
		}
	}
	in := client.CreateTaskRequest{
		Title: r.title, Contract: contract, Priority: strings.ToUpper(r.priority),
		Agent: r.agent, Provider: r.provider, Execution: execution, DeadlineAt: r.deadline,
	}
	if r.script != "" && r.agent == "" && r.compare == "" {
		in.Agent = task.AgentScripted
	}
	if cmd.Flags().Changed("validate") || r.validator != "" {
		in.Validate = new(r.validate || r.validator != "")
	}
	if r.checkDuplicates {
		in.CheckDuplicates = &r.checkDuplicates
	}
	if cmd.Flags().Changed("max-retries") {
		in.MaxRetries = &r.maxRetries
	}
	b, named, err := r.budget.over(client.Budget{}, false)
	if err != nil {
		return none, err
	}
	if named {
		in.Budget = &b
	}
	return in, nil
}

// checkFlags refuses flags that contradict each other. The server checks the values of single flags.
func (r *run) checkFlags(cmd *cobra.Command) error {
	for _, name := range []string{"compare", "deadline", "project", "repo"} { // an unset shell variable leaves an empty value
		if f := cmd.Flag(name); f != nil && f.Changed && f.Value.String() == "" {
			return exit.Usagef("--%s is empty: give a value, or omit the flag", name)
		}
	}
	switch {
	case r.timeout != 0 && !r.wait:
		return exit.Usagef("--wait-timeout needs --wait")
	case cmd.Flags().Changed("wait-timeout") && r.timeout <= 0:
		return exit.Usagef("invalid --wait-timeout %s: must be above 0; omit the flag to wait without limit", r.timeout)
	case r.project != "" && r.repo != "":
		return exit.Usagef("--project and --repo exclude each other: omit one of them")
	case r.compare != "" && r.agent != "":
		return exit.Usagef("--compare and --agent exclude each other: --compare names the agents")
	case r.validator != "" && cmd.Flags().Changed("validate") && !r.validate:
		return exit.Usagef("--validate=false and --validator-script exclude each other: omit one of them")
	case r.script != "" && r.agent != "" && r.agent != task.AgentScripted:
		return exit.Usagef("--script needs the agent scripted, and --agent is %s: omit one of them", r.agent)
	}
	return nil
}

// text returns the task text: the argument, a file, or standard input.
func (r *run) text(args []string) (string, error) {
	file := r.file
	switch {
	case len(args) == 1 && file != "":
		return "", exit.Usagef("the text and --file exclude each other: omit one of them")
	case len(args) == 1 && args[0] == "-":
		file = "-"
	case len(args) == 1:
		return notEmpty(args[0])
	case file == "":
		return "", exit.Usagef("missing task text: pass it as an argument, with --file, or \"-\" for standard input")
	}
	raw, err := r.read("the task", file)
	if err != nil {
		return "", err
	}
	return notEmpty(string(raw))
}

func notEmpty(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", exit.Usagef("the task text is empty")
	}
	return text, nil
}

// read reads a file, or standard input for "-". what describes the content in errors.
func (s *session) read(what, file string) ([]byte, error) {
	in := s.Stdin
	if file != "-" {
		path, err := s.path(file)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("read %s: %w", what, err))
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxText))
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("read %s from %s: %w", what, file, err))
	}
	return raw, nil
}

// executionConfig merges --execution-config, --script and --validator-script.
func (r *run) executionConfig() (json.RawMessage, error) {
	config := map[string]json.RawMessage{}
	if r.execution != "" {
		if err := r.readJSON("the execution config", r.execution, &config); err != nil {
			return nil, err
		}
	}
	if err := r.addScript(config, "script", r.script); err != nil {
		return nil, err
	}
	if err := r.addScript(config, "validator", r.validator); err != nil {
		return nil, err
	}
	if r.validator != "" {
		validator, err := json.Marshal(task.Validator{Agent: task.AgentScripted, Script: config["validator"]})
		if err != nil {
			return nil, err
		}
		config["validator"] = validator
	}
	if len(config) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	err := render.JSONLine(&out, config) // keeps & and < unescaped
	return bytes.TrimSpace(out.Bytes()), err
}

// addScript sets a key of an execution config to a script. A key that exists is an error.
func (r *run) addScript(config map[string]json.RawMessage, key, script string) (err error) {
	switch {
	case script == "":
		return nil
	case config[key] != nil:
		return exit.Usagef("a flag and --execution-config %s both set %s: omit one of them", r.execution, key)
	}
	config[key], err = r.readScript(script)
	return err
}

func (r *run) readJSON(what, file string, into any) error {
	raw, err := r.read(what, file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return exit.Usagef("%s is not valid JSON: %v", file, err)
	}
	return nil
}

// examplePrefix is the prefix of built-in scripts.
const examplePrefix = "example:"

func exampleNames() string {
	return examplePrefix + strings.Join(examples.Names(), ", "+examplePrefix)
}

// readScript reads a built-in script or a file.
func (r *run) readScript(script string) (raw json.RawMessage, err error) {
	name, isExample := strings.CutPrefix(script, examplePrefix)
	if !isExample {
		err = r.readJSON("the script", script, &raw)
		return raw, err
	}
	if raw, err = examples.Read(name); err != nil {
		return nil, exit.Usagef("unknown script %s: must be one of %s", script, exampleNames())
	}
	return raw, nil
}

// repository returns the repository of the request: --repo, else the GitHub origin of the working copy around the
// current folder, else that local repository.
func (r *run) repository(ctx context.Context) (string, error) {
	if r.repo != "" {
		return r.named(r.repo)
	}
	dir, err := r.path(".")
	if err != nil {
		return "", exit.With(exit.Usage, err)
	}
	top := enclosing(dir)
	if top == "" {
		return "", exit.Usagef("no repository: the current folder is not in a Git repository. Next: omoi run \"<text>\" --repo <path>")
	}
	return cmp.Or(remote(ctx, top), top), nil
}

// named returns the value of --repo for the server: an absolute path, or the name of a remote repository.
func (s *session) named(repo string) (string, error) {
	path, err := s.path(repo)
	if err != nil {
		return "", exit.With(exit.Usage, err)
	}
	switch {
	case filepath.IsAbs(repo): // the path may exist on the server's machine only
		return path, nil
	case isFolder(path):
		if top := enclosing(path); top != "" {
			return top, nil
		}
		return path, nil
	case exists(path):
		return "", exit.Usagef("invalid --repo %s: this is a file; give the folder of a Git repository", repo)
	case isRemote(repo):
		return repo, nil
	}
	return "", exit.Usagef("invalid --repo %s: folder %s does not exist; give the path of a Git repository", repo, path)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)

// isRemote reports whether repo names a remote repository: a URL or owner/name.
func isRemote(repo string) bool {
	return strings.Contains(repo, "://") || strings.HasPrefix(repo, "git@") || ownerName.MatchString(repo)
}

// enclosing returns the top folder of the repository that contains dir; empty if none does.
func enclosing(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	for {
		git := filepath.Join(dir, ".git")
		bare := exists(filepath.Join(dir, "HEAD")) && exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
		if info, err := os.Stat(git); bare || err == nil && (!info.IsDir() || exists(filepath.Join(git, "HEAD"))) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
