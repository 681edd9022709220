package task

import (
	"errors"
	"fmt"
	"time"
)

// Code classifies an error for callers: it decides the HTTP status, the exit code
// and whether an activity is retried.
type Code string

// The error codes. Anything without a code is [CodeInternal].
const (
	CodeInvalid      Code = "invalid"      // the request is wrong; 422
	CodeUnauthorized Code = "unauthorized" // no or a bad credential; 401
	CodeForbidden    Code = "forbidden"    // a good credential for something else; 403
	CodeNotFound     Code = "not_found"    // 404
	CodeConflict     Code = "conflict"     // the state does not allow it; 409
	CodeGone         Code = "gone"         // it was here and is over; 410
	CodeExhausted    Code = "exhausted"    // a limit is reached; 429
	CodeUnavailable  Code = "unavailable"  // try again later; 503
	CodeInternal     Code = "internal"     // our fault; 500
)

// Error is what omoi tells a caller: a code, a sentence fit for the public, and a
// private cause that is logged and never serialised.
type Error struct {
	Code    Code
	Kind    Kind // what failed more exactly; empty: that of the code
	Message string
	Field   string // the field of the request that is at fault; empty if none is
	// After is how long trying again is of no use; zero: nobody said.
	After time.Duration
	// Reason is the condition that a task which ends for this error shows to programs; zero: none.
	Reason Reason
	cause  error
}

// Errorf makes an error of the given code with a public message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes a [CodeInvalid] error that names the field at fault.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// InvalidCursor returns the error of a cursor that this server did not issue.
func InvalidCursor(field string) *Error {
	return Invalid(field, "Invalid cursor: this server did not issue it. Next: repeat the request without a cursor.").
		WithKind(KindInvalidCursor)
}

// WithCause returns a copy of e that carries a private cause.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// WithKind returns a copy of e that names what failed more exactly.
func (e *Error) WithKind(kind Kind) *Error {
	c := *e
	c.Kind = kind
	return &c
}

// WithReason returns a copy of e that carries a condition for programs.
func (e *Error) WithReason(reason Reason) *Error {
	c := *e
	c.Reason = reason
	return &c
}

// Error returns the public message, followed by the cause for logs.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of the first [Error] in err's chain, [CodeInternal] if
// there is none, and the empty code for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// AfterOf returns how long trying again is of no use; zero if nobody said.
func AfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.After
	}
	return 0
}

// ReasonOf returns the condition of the first [Error] in err's chain, zero if there is none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Reason{}
}

// MessageOf returns the public sentence of err: bland for everything without a code.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeInternal {
		return e.Message
	}
	return "Something went wrong inside omoi. The server's log has the details."
}
