// Package hook refuses tool calls of an agent before they run: calls that the task contract forbids, and a short list of
// irreversible ones. The decision needs nothing outside of the sandbox. The hook is a process of its own, which the agent's
// program starts for each call, so its state is files in the agent's folder: the limits that omoi-agent writes, the
// reports that it turns into events, and what a user allowed once.
package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/shellcmd"
)

// Call is a tool call before it runs, in the form of the hook PreToolUse of Claude Code.
type Call struct {
	Tool  string `json:"tool_name"`
	ID    string `json:"tool_use_id"`
	Dir   string `json:"cwd"`
	Input struct {
		Command  line   `json:"command"`
		FilePath string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	} `json:"tool_input"`
}

// line is a shell command, or a program with its arguments as a list.
type line string

// UnmarshalJSON reads either form. Another one is no command.
func (l *line) UnmarshalJSON(raw []byte) error {
	var words []string
	if json.Unmarshal(raw, &words) == nil {
		*l = line(shellcmd.Line(words...))
		return nil
	}
	_ = json.Unmarshal(raw, (*string)(l))
	return nil
}

// command returns the shell command of the call; empty: it runs none.
func (c Call) command() string { return string(c.Input.Command) }

// file returns the file that the call changes; empty: none that is known.
func (c Call) file() string {
	switch c.Tool {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return cmp.Or(c.Input.FilePath, c.Input.Notebook)
	}
	return ""
}

// Exit codes of [Run], as Claude Code reads them.
const (
	ExitAllowed   = 0
	ExitUnchecked = 1 // the call runs
	ExitRefused   = 2 // the call does not run, and the agent gets the reason
)

const (
	maxInput   = 32 << 20
	maxTime    = 8 * time.Second // below the limit of Claude Code for a hook
	maxCommand = 5000            // bytes of a command in an event
	limitsName = "limits.json"
)

func folder(dir string) string { return filepath.Join(dir, "hook") }

// Run checks the call that is read from in, and returns the exit code. A call that cannot be checked runs.
func Run(dir string, in io.Reader, errs io.Writer) int { return run(dir, in, errs, maxTime) }

func run(dir string, in io.Reader, errs io.Writer, limit time.Duration) int {
	decided := make(chan decision, 1)
	go func() { decided <- decide(dir, in) }()
	var d decision
	select {
	case d = <-decided:
	case <-time.After(limit):
		d.err = fmt.Errorf("the check took more than %s", limit)
	}
	switch {
	case d.err != nil:
		return unchecked(dir, d.call, errs, d.err)
	case d.reason != "":
		_, _ = fmt.Fprintln(errs, d.reason)
		return ExitRefused
	}
	return ExitAllowed
}

// decision is a call, and why it is refused.
type decision struct {
	call   Call
	reason string
	err    error
}

// decide reads a call and checks it. A panic is an error, because its exit code would refuse the call.
func decide(dir string, in io.Reader) (d decision) {
	defer func() {
		if p := recover(); p != nil {
			d.err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	if err := json.NewDecoder(io.LimitReader(in, maxInput)).Decode(&d.call); err != nil {
		d.err = fmt.Errorf("read the tool call: %w", err)
		return d
	}
	d.reason, d.err = Check(dir, d.call)
	return d
}

// Check returns why a call is refused; empty: the call may run. Check reports what it refuses, and what a user allowed
// once. An error means that the limits are unknown.
func Check(dir string, call Call) (reason string, err error) {
	var l Limits
	if text, err := os.ReadFile(filepath.Join(folder(dir), limitsName)); err != nil {
		return "", fmt.Errorf("read the limits: %w", err)
	} else if err = json.Unmarshal(text, &l); err != nil {
		return "", fmt.Errorf("read the limits: %w", err)
	}
	rule, why := l.refuses(call)
	if rule == "" {
		return "", nil
	}
	what := digest(call)
	if id := takeAllowed(dir, what); id != "" {
		_ = report(dir, event.AgentToolAllowed, call, map[string]any{"refusal": id})
		return "", nil
	}
	id := what + "-" + suffix()
	if err := report(dir, event.AgentToolRefused, call, map[string]any{"refusal": id, "rule": rule, "reason": why, "can_be_allowed": l.Messages}); err != nil {
		why += " (The refusal is not recorded: " + err.Error() + ")"
	}
	return "Refused before it ran. " + why + " " + l.advice(), nil
}

// advice says what the agent can do instead. It never waits.
func (l Limits) advice() string {
	text := "Do it in another way, or go on with the rest and say at the end what is missing."
	if l.Messages {
		text += " Do not wait: if a user allows this call, a message tells you to repeat it."
	}
	return text
}

func unchecked(dir string, call Call, errs io.Writer, err error) int {
	_, _ = fmt.Fprintf(errs, "omoi-agent: the tool call is not checked: %s\n", err)
	_ = report(dir, event.AgentToolUnchecked, call, map[string]any{"error": err.Error()})
	return ExitUnchecked
}

// report stores an event for [Hook.Run].
func report(dir, eventType string, call Call, data map[string]any) error {
	data["tool"], data["tool_use_id"] = call.Tool, call.ID
	if call.command() != "" {
		data["command"] = textcut.First(call.command(), maxCommand)
	} else if file := call.file(); file != "" {
		data["file_path"] = file
	}
	return statefile.Save(filepath.Join(folder(dir), reportsName, reportName()), stored{Type: eventType, Data: data})
}
