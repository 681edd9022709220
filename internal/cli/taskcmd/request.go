package taskcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxText is more than the server takes, so that the server's own words tell the limit.
const maxText = 8 << 20

// request is the body of the task that the command line describes. The repository comes last: it is the only
// part that does not stand on the command line.
func (r *run) request(cmd *cobra.Command, args []string) (client.NewTask, error) {
	var none client.NewTask
	if err := r.checkFlags(cmd); err != nil {
		return none, err
	}
	text, err := r.text(args)
	if err != nil {
		return none, err
	}
	execution, err := r.executionConfig()
	if err != nil {
		return none, err
	}
	in := client.NewTask{
		Title: r.title, Description: text, Priority: strings.ToUpper(r.priority),
		Agent: r.agent, Sandbox: r.sandbox, Execution: execution, DeadlineAt: r.deadline,
	}
	if r.script != "" && r.agent == "" {
		in.Agent = task.AgentScripted
	}
	if cmd.Flags().Changed("validate") || r.validator != "" {
		in.Validate = new(r.validate || r.validator != "")
	}
	if r.checkDuplicates {
		in.CheckDuplicates, in.ForceCreate = &r.checkDuplicates, r.force
	}
	if cmd.Flags().Changed("max-retries") {
		in.MaxRetries = &r.maxRetries
	}
	if r.budget.below() {
		return none, exit.Usagef("a budget is above 0; leave the flag out for no limit")
	}
	if b, named := r.budget.over(client.Budget{}); named {
		in.Budget = &b
	}
	if err := equipped(in); err != nil {
		return none, err
	}
	if r.project == "" {
		in.Repo, err = r.repository()
	}
	return in, err
}

// checkFlags refuses what the server would refuse, in the words of the command line.
func (r *run) checkFlags(cmd *cobra.Command) error {
	if name := emptyFlag(cmd.Flags()); name != "" {
		return exit.Usagef("--%s is empty: give a value, or leave it out", name)
	}
	switch {
	case r.timeout != 0 && !r.wait:
		return exit.Usagef("--wait-timeout says how long --wait waits; give both, or neither")
	case cmd.Flags().Changed("wait-timeout") && r.timeout <= 0:
		return exit.Usagef("--wait-timeout %s: give a time above 0, or leave it out to wait for as long as it takes", r.timeout)
	case r.maxRetries < 0 || r.maxRetries > maxRetries:
		return exit.Usagef("--max-retries %d: give 0 to %d", r.maxRetries, maxRetries)
	case r.priority != "" && !slices.Contains(priorities(), strings.ToUpper(r.priority)):
		return exit.Usagef("--priority %s: choose from %s", r.priority, strings.Join(priorities(), ", "))
	case r.project != "" && r.repo != "":
		return exit.Usagef("--project and --repo both say where the task belongs: leave one of them out")
	case r.force && !r.checkDuplicates:
		return exit.Usagef("--force makes a task that --check-duplicates would not: give both, or neither")
	case r.validator != "" && cmd.Flags().Changed("validate") && !r.validate:
		return exit.Usagef("--validate=false and --validator-script contradict each other: leave one of them out")
	case r.script != "" && r.agent != "" && r.agent != task.AgentScripted:
		return exit.Usagef("--script is for the agent scripted, and --agent names %s: leave one of them out", r.agent)
	}
	return nil
}

// emptyFlag returns the name of a flag that was given without a value, as an unset shell variable does.
func emptyFlag(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if name == "" && slices.Contains([]string{"deadline", "project", "repo"}, f.Name) && f.Value.String() == "" {
			name = f.Name
		}
	})
	return name
}

// maxRetries is what the server takes.
const maxRetries = 10

func priorities() []string { return []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"} }

// text is the task's text: the argument, a file, or standard input.
func (r *run) text(args []string) (string, error) {
	file := r.file
	switch {
	case len(args) == 1 && file != "":
		return "", exit.Usagef("give the task as text or with --file, not both")
	case len(args) == 1 && args[0] == "-":
		file = "-"
	case len(args) == 1:
		return notEmpty(args[0])
	case file == "":
		return "", exit.Usagef("no task is given: give the task as text, omoi run \"<text>\" --repo <path> --script example:hello, or --file <file>, or - for standard input")
	}
	raw, err := r.read("the task", file)
	if err != nil {
		return "", err
	}
	return notEmpty(string(raw))
}

func notEmpty(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", exit.Usagef("the task is empty: say in a sentence or more what should be done")
	}
	return text, nil
}

// read reads a file, or standard input for "-"; what names it in errors.
func (r *run) read(what, file string) ([]byte, error) {
	in := r.Stdin
	if file != "-" {
		path, err := r.path(file)
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

// executionConfig joins --execution-config, --script and --validator-script.
func (r *run) executionConfig() (json.RawMessage, error) {
	config := map[string]json.RawMessage{}
	if r.execution != "" {
		if err := r.readJSON("the execution config", r.execution, &config); err != nil {
			return nil, err
		}
	}
	if r.validator != "" {
		raw, err := r.readScript(r.validator)
		if err != nil {
			return nil, err
		}
		if config["validator"] != nil {
			return nil, exit.Usagef("--validator-script and --execution-config %s both bring a validator: leave one of them out", r.execution)
		}
		if config["validator"], err = json.Marshal(task.Validator{Agent: task.AgentScripted, Script: raw}); err != nil {
			return nil, err
		}
	}
	if r.script != "" {
		raw, err := r.readScript(r.script)
		if err != nil {
			return nil, err
		}
		if config["script"] != nil {
			return nil, exit.Usagef("--script and --execution-config %s both bring a script: leave one of them out", r.execution)
		}
		config["script"] = raw
	}
	if len(config) == 0 {
		return nil, nil
	}
	return asWritten(config)
}

// asWritten is JSON whose text a person reads as it was: & stays &.
func asWritten(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

func (r *run) readJSON(what, file string, into any) error {
	raw, err := r.read(what, file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return exit.Usagef("%s is no valid JSON: %v", file, err)
	}
	return nil
}
