// Package exit turns errors into exit codes and into what users read on standard error.
package exit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/task"
)

// The exit codes, from DESIGN.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2
	Unreachable = 3
	NeedsYou    = 4 // a person has to do something first
	Budget      = 5
	Interrupted = 130
)

// Error is an error with an exit code of its own. An Err of nil prints nothing: everything is said.
type Error struct {
	Code int
	Err  error
}

// Error returns the text of the error inside.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the error inside.
func (e *Error) Unwrap() error { return e.Err }

// With gives err an exit code.
func With(code int, err error) error { return &Error{Code: code, Err: err} }

// Usagef is a command line that cannot be carried out as it was written.
func Usagef(format string, args ...any) error { return With(Usage, fmt.Errorf(format, args...)) }

// Code is the exit code of an error: 0 for nil.
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

// Report writes an error for people, or as one JSON object, and answers its exit code.
// A Ctrl-C and errors that said everything already are silent.
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

// Message is what a person should read: the public sentence where there is one, since the cause behind
// it is for logs.
func Message(err error) string {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return sentence(e.Message)
	}
	return sentence(err.Error())
}

// sentence gives errors of all origins one style: a capital at the beginning, unless a name stands there, and a
// full stop at the end, unless a command does that people copy.
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

// Flag gives what the parser of flags complains about the exit code of wrong usage.
func Flag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() { // a command that does not exist matters more than its flags
		if wrong := cmd.ValidateArgs(cmd.Flags().Args()); wrong != nil {
			return With(Usage, wrong)
		}
	}
	return Usagef("%w. Next: %s --help", err, cmd.CommandPath())
}
