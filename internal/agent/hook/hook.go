// Package hook refuses tool calls of an agent before they run: calls that the task contract forbids, and a short list of
// irreversible ones. The decision needs nothing outside of the sandbox. The hook is a process of its own, which the agent's
// program starts for each call, so its state is files in the agent's folder: the limits that omoi-agent writes, the
// reports that it turns into events, and what a user allowed once.
package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
		Command  Line   `json:"command"`
		FilePath string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	} `json:"tool_input"`
	// Files are the files that the call changes; nil: the tool and its input tell.
	Files []string `json:"-"`
}

// Line is a shell command, or a program with its arguments as a list.
type Line string

// UnmarshalJSON reads either form. Another one is no command.
func (l *Line) UnmarshalJSON(raw []byte) error {
	var words []string
	if json.Unmarshal(raw, &words) == nil {
		*l = Line(shellcmd.Line(words...))
		return nil
	}
	_ = json.Unmarshal(raw, (*string)(l))
	return nil
}

// command returns the shell command of the call; empty: it runs none.
func (c Call) command() string { return string(c.Input.Command) }

// files returns the files that the call changes, as far as they are known.
func (c Call) files() []string {
	file := cmp.Or(c.Input.FilePath, c.Input.Notebook)
	if c.Files != nil || file == "" {
		return c.Files
	}
	switch c.Tool {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return []string{file}
	}
	return nil
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
func Run(dir string, in io.Reader, errs io.Writer) int {
	ctx, cancel := limited(maxTime)
	defer cancel()
	return run(ctx, dir, in, errs)
}

func limited(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("the check took more than %s", limit))
}

// run checks a call until ctx ends. Only the goroutine of run stores anything, so that a call that runs unchecked is not
// reported as refused.
func run(ctx context.Context, dir string, in io.Reader, errs io.Writer) int {
	call, err := within(ctx, func() (Call, error) { return read(in) })
	if err != nil {
		return unchecked(dir, call, errs, err)
	}
	reason, err := judge(ctx, dir, call)
	if err != nil {
		return unchecked(dir, call, errs, err)
	}
	if reason != "" {
		_, _ = fmt.Fprintln(errs, reason)
		return ExitRefused
	}
	return ExitAllowed
}

// Refuses checks a call for which an agent asks omoi-agent itself, and returns the reason for the agent. Empty: the call may
// run, or cannot be checked.
func Refuses(dir string, call Call) string {
	ctx, cancel := limited(maxTime)
	defer cancel()
	reason, err := judge(ctx, dir, call)
	if err != nil {
		unchecked(dir, call, io.Discard, err)
	}
	return reason
}

// judge returns the reason of a refusal; empty: the call may run.
func judge(ctx context.Context, dir string, call Call) (reason string, err error) {
	found, err := within(ctx, func() (refusal, error) { return check(ctx, dir, call) })
	if err != nil {
		return "", err
	}
	return found.apply(dir, call), nil
}

// outcome is what a function returned.
type outcome[T any] struct {
	value T
	err   error
}

// within returns the result of f, which must store nothing: it continues if ctx ends before. A panic is an error, because its
// exit code would refuse the call.
func within[T any](ctx context.Context, f func() (T, error)) (none T, err error) {
	ended := make(chan outcome[T], 1)
	go func() {
		var o outcome[T]
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("the check panicked: %v", p)
			}
			ended <- o
		}()
		o.value, o.err = f()
	}()
	select {
	case o := <-ended:
		if ctx.Err() == nil { // else f may have decided without the answer of Git
			return o.value, o.err
		}
	case <-ctx.Done():
	}
	return none, context.Cause(ctx)
}

func read(in io.Reader) (call Call, err error) {
	if err := json.NewDecoder(io.LimitReader(in, maxInput)).Decode(&call); err != nil {
		return Call{}, fmt.Errorf("read the tool call: %w", err)
	}
	return call, nil
}

// refusal is why a call is refused. The zero value: the call may run.
type refusal struct {
	limits    Limits
	rule, why string
}

// check returns why a call is refused. An error means that the limits are unknown.
func check(ctx context.Context, dir string, call Call) (r refusal, err error) {
	text, err := os.ReadFile(filepath.Join(folder(dir), limitsName))
	if err == nil {
		err = json.Unmarshal(text, &r.limits)
	}
	if err != nil {
		return refusal{}, fmt.Errorf("read the limits: %w", err)
	}
	r.rule, r.why = r.limits.refuses(ctx, call)
	return r, nil
}

// apply reports a refusal, or uses up what a user allowed once, and returns the reason for the agent. Empty: the call may run.
func (r refusal) apply(dir string, call Call) string {
	if r.rule == "" {
		return ""
	}
	what := digest(call)
	if id := takeAllowed(dir, what); id != "" {
		_ = report(dir, event.AgentToolAllowed, call, map[string]any{"refusal": id})
		return ""
	}
	id := what + "-" + suffix()
	if err := report(dir, event.AgentToolRefused, call, map[string]any{"refusal": id, "rule": r.rule, "reason": r.why, "can_be_allowed": r.limits.Messages}); err != nil {
		r.why += " (The refusal is not recorded: " + err.Error() + ")"
	}
	return "Refused before it ran. " + r.why + " " + r.limits.advice()
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
	} else if files := call.files(); len(files) > 0 {
		data["file_path"] = strings.Join(files, ", ")
	}
	return statefile.Save(filepath.Join(folder(dir), reportsName, reportName()), stored{Type: eventType, Data: data})
}
