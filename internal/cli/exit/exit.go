// Package exit maps errors to exit codes and to the messages that users read on standard error.
package exit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/omoi-dev/omoi/internal/task"
)

// Exit codes of omoi; omoi --help lists them.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2
	Unreachable = 3
	NeedsYou    = 4 // the user must act first, for example log in
	Budget      = 5
	Interrupted = 130
)

// Error is an error with an exit code. If Err is nil, [Report] prints nothing: the command has already printed its
// result.
type Error struct {
	Code int
	Err  error
}

// Error returns the text of Err.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// With returns err with an exit code. err may be nil.
func With(code int, err error) error { return &Error{Code: code, Err: err} }

// Usagef returns an error of wrong usage, exit code 2.
func Usagef(format string, args ...any) error { return With(Usage, fmt.Errorf(format, args...)) }

// Code returns the exit code of an error; 0 for nil.
func Code(err error) int {
	if err == nil {
		return Done
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if errors.Is(err, context.Canceled) {
		return Interrupted
	}
	if kind := task.KindOf(err); kind == task.KindNoAgent || kind == task.KindDuplicateWork {
		return NeedsYou
	}
	switch task.CodeOf(err) {
	case task.CodeInvalid:
		return Usage
	case task.CodeUnavailable:
		return Unreachable
	case task.CodeUnauthorized, task.CodeForbidden:
		return NeedsYou
	case task.CodeNotFound, task.CodeConflict, task.CodeGone, task.CodeExhausted, task.CodeInternal:
	}
	return Failed
}

// Report writes an error as a sentence or as one JSON object, and returns its exit code. Report writes nothing for a
// Ctrl-C and for an [Error] without Err.
func Report(w io.Writer, err error, asJSON bool) int {
	code := Code(err)
	e, ok := errors.AsType[*Error](err)
	if err == nil || ok && e.Err == nil || errors.Is(err, context.Canceled) {
		return code
	}
	if asJSON {
		reportJSON(w, err, code)
		return code
	}
	_, _ = fmt.Fprintln(w, "omoi: "+Message(err))
	return code
}

// Message returns the text of an error for users. Of a [task.Error] this is the public message; its cause is for logs.
func Message(err error) string {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return sentence(e.Message)
	}
	return sentence(err.Error())
}

// sentence makes the first letter a capital, unless the first word is a name such as omoi, and adds a full stop, unless
// the text has lines or a next step to copy.
func sentence(text string) string {
	first, _, _ := strings.Cut(text, " ")
	isWord := strings.Trim(first, "abcdefghijklmnopqrstuvwxyz,;:") == ""
	if isWord && first != "" && first != "omoi" && first != "git" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if strings.Contains(text, "Next: ") || strings.Contains(text, "\n") || text == "" || strings.ContainsAny(text[len(text)-1:], ".?!:") {
		return text
	}
	return text + "."
}

func reportJSON(w io.Writer, err error, code int) {
	out := struct {
		Error    string    `json:"error"`
		Code     task.Kind `json:"code,omitempty"`
		Field    string    `json:"field,omitempty"`
		ExitCode int       `json:"exit_code"`
	}{Error: Message(err), ExitCode: code}
	if e, ok := errors.AsType[*task.Error](err); ok {
		out.Code, out.Field = task.KindOf(e), e.Field
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		_, _ = fmt.Fprintln(w, "omoi: "+out.Error)
	}
}

// Flag returns an error of the flag parser with the exit code of wrong usage and the next step.
func Flag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() { // report an unknown subcommand before its flags
		if wrong := cmd.ValidateArgs(cmd.Flags().Args()); wrong != nil {
			return With(Usage, wrong)
		}
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok && expected(bad.GetFlag()) != "" {
		return Usagef("invalid value %q of --%s: must be %s. Next: %s --help", bad.GetValue(), bad.GetFlag().Name, expected(bad.GetFlag()), cmd.CommandPath())
	}
	return Usagef("%w. Next: %s --help", err, cmd.CommandPath())
}

// expected returns what the values of a flag are, for flags whose values are parsed; else empty.
func expected(flag *pflag.Flag) string {
	return map[string]string{
		"bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
		"duration": "a duration, for example 90s, 15m or 4h",
	}[flag.Value.Type()]
}
