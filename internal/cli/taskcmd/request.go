package taskcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxText is more than the server takes, so that the server's own words tell the limit.
const maxText = 8 << 20

// request is the body of the task that the command line describes.
func (r *run) request(cmd *cobra.Command, args []string) (client.NewTask, error) {
	var none client.NewTask
	text, err := r.text(args)
	if err != nil {
		return none, err
	}
	execution, err := r.executionConfig()
	if err != nil {
		return none, err
	}
	repo, err := r.repository(cmd.Context())
	if err != nil {
		return none, err
	}
	in := client.NewTask{
		Repo: repo, Title: r.title, Description: text, Priority: strings.ToUpper(r.priority),
		Agent: r.agent, Sandbox: r.sandbox, Execution: execution,
	}
	if r.script != "" && r.agent == "" {
		in.Agent = task.AgentScripted
	}
	if cmd.Flags().Changed("max-retries") {
		in.MaxRetries = &r.maxRetries
	}
	return in, nil
}

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
		return "", exit.Usagef("give the task: omoi run \"<text>\" --repo <path> --script example:hello, or --file <file>, or - for standard input")
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

// executionConfig joins --execution-config and --script.
func (r *run) executionConfig() (json.RawMessage, error) {
	config := map[string]json.RawMessage{}
	if r.execution != "" {
		if err := r.readJSON("the execution config", r.execution, &config); err != nil {
			return nil, err
		}
	}
	if r.script != "" {
		raw, err := r.readScript()
		if err != nil {
			return nil, err
		}
		config["script"] = raw
	}
	if len(config) == 0 {
		return nil, nil
	}
	return json.Marshal(config)
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

// repository is what the server is told: owner/name as it is, a path made absolute. Nothing given:
// the repository around the current folder.
func (r *run) repository(ctx context.Context) (string, error) {
	if r.repo == "" {
		return r.around(ctx)
	}
	path, err := r.path(r.repo)
	if err != nil {
		return "", exit.With(exit.Usage, err)
	}
	if looksLikePath(r.repo) || isFolder(path) {
		return path, nil
	}
	return r.repo, nil
}

func looksLikePath(s string) bool {
	return filepath.IsAbs(s) || s == "." || s == ".." || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../")
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (r *run) around(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel")
	cmd.Dir = r.Dir
	out, err := cmd.Output()
	if err != nil {
		return "", exit.Usagef("the current folder is in no git repository: give one with --repo <path or owner/name>")
	}
	top := strings.TrimSpace(string(out))
	r.hint("Repository: %s", top)
	return top, nil
}
