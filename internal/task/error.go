package task

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Code classifies an error for callers: it decides the HTTP status, the exit code
// and whether an activity is retried.
type Code string

// The error codes. An error without a code counts as [CodeInternal].
const (
	CodeInvalid      Code = "invalid"      // the request is wrong; 422
	CodeUnauthorized Code = "unauthorized" // missing or invalid credential; 401
	CodeForbidden    Code = "forbidden"    // valid credential without access; 403
	CodeNotFound     Code = "not_found"    // 404
	CodeConflict     Code = "conflict"     // the current state does not allow it; 409
	CodeGone         Code = "gone"         // it existed and was removed; 410
	CodeExhausted    Code = "exhausted"    // a limit is reached; 429
	CodeUnavailable  Code = "unavailable"  // try again later; 503
	CodeInternal     Code = "internal"     // a fault of omoi; 500
)

// Error is an error for a caller: a code, a public message, and a private cause, which is logged and never serialized.
type Error struct {
	Code    Code
	Kind    Kind // more exact than the code; empty: the kind of the code
	Message string
	Field   string // invalid field of the request; empty: none
	// After is the time before which a retry cannot succeed; zero: unknown.
	After time.Duration
	// Reason is the end reason of a task that fails with this error; zero: none.
	Reason Reason
	cause  error
}

// Errorf makes an error of the given code with a public message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes a [CodeInvalid] error that names the invalid field.
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

// WithKind returns a copy of e with a more exact kind.
func (e *Error) WithKind(kind Kind) *Error {
	c := *e
	c.Kind = kind
	return &c
}

// WithReason returns a copy of e with an end reason.
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

// AfterOf returns the time before which a retry cannot succeed; zero if unknown.
func AfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.After
	}
	return 0
}

// ReasonOf returns the reason of the first [Error] in err's chain; zero if there is none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Reason{}
}

// MessageOf returns the public message of err. It is generic for an error without a code.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeInternal {
		return e.Message
	}
	return "Something went wrong inside omoi. The server's log has the details."
}

// NotSent reports whether a request cannot have reached its server, since the connection failed: a repetition is no second one.
func NotSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
