package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// statuses maps codes to HTTP statuses; the first line with a status decodes it.
var statuses = []struct { //nolint:gochecknoglobals // a table that nobody writes
	code   task.Code
	status int
}{
	{task.CodeInvalid, http.StatusUnprocessableEntity},
	{task.CodeInvalid, http.StatusBadRequest},
	{task.CodeInvalid, http.StatusRequestEntityTooLarge},
	{task.CodeInvalid, http.StatusUnsupportedMediaType},
	{task.CodeUnauthorized, http.StatusUnauthorized},
	{task.CodeForbidden, http.StatusForbidden},
	{task.CodeNotFound, http.StatusNotFound},
	{task.CodeNotFound, http.StatusMethodNotAllowed},
	{task.CodeConflict, http.StatusConflict},
	{task.CodeGone, http.StatusGone},
	{task.CodeExhausted, http.StatusTooManyRequests},
	{task.CodeUnavailable, http.StatusServiceUnavailable},
	{task.CodeUnavailable, http.StatusBadGateway},
	{task.CodeUnavailable, http.StatusRequestTimeout},
	{task.CodeUnavailable, http.StatusGatewayTimeout},
	{task.CodeInternal, http.StatusInternalServerError},
}

// StatusOf returns the HTTP status of a code: 500 for an unknown code.
func StatusOf(code task.Code) int {
	for _, s := range statuses {
		if s.code == code {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// CodeOf returns the code of an HTTP status: [task.CodeInternal] for an unknown status.
func CodeOf(status int) task.Code {
	for _, s := range statuses {
		if s.status == status {
			return s.code
		}
	}
	return task.CodeInternal
}

// maxProblem is the maximum number of bytes read of an error's body.
const maxProblem = 256 << 10

// decodeProblem converts an unsuccessful response to a *task.Error.
func decodeProblem(status int, body io.Reader) error {
	content, _ := io.ReadAll(io.LimitReader(body, maxProblem)) // a partial body is better than none
	var p Problem
	if err := json.Unmarshal(content, &p); err != nil || p.Detail == "" {
		return task.Errorf(CodeOf(status), "The server answered %d %s.", status, http.StatusText(status))
	}
	e := task.Errorf(CodeOf(status), "%s", p.Detail)
	e.Kind = p.Code
	if p.MessageID != "" {
		e = e.WithCause(&refusedError{messageID: p.MessageID})
	}
	if p.Question != nil {
		e = e.WithCause(&closedError{question: *p.Question})
	}
	if len(p.Errors) > 0 {
		_, e.Field, _ = strings.Cut(p.Errors[0].Location, ".")
	}
	return e
}
