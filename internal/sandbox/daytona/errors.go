package daytona

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// answer is an error response of Daytona or of a proxy.
type answer struct {
	status int
	code   string        // error code of the toolbox; may be empty
	text   string        // at most maxText runes; may be empty
	after  time.Duration // wait that a rate limit requests
}

func (a *answer) Error() string {
	return strings.TrimRight(fmt.Sprintf("status %d: %s %s", a.status, a.code, a.text), ": ")
}

const maxText = 300

// bodied is the error type of both official clients.
type bodied interface {
	error
	Body() []byte
}

// classify converts an error of a call to a [task.Error]. doing completes "Daytona could not", for example "list
// sandboxes".
func classify(doing string, resp *http.Response, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if _, coded := errors.AsType[*task.Error](err); coded {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if resp == nil {
		return task.Errorf(task.CodeUnavailable, "cannot reach Daytona to %s", doing).WithCause(err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return task.Errorf(task.CodeUnavailable, "Daytona sent an invalid answer to %s", doing).WithCause(err)
	}
	var body []byte
	if b, ok := errors.AsType[bodied](err); ok {
		body = b.Body()
	}
	return meaning(doing, read(resp, body))
}

// read decodes an error response in any of its formats.
func read(resp *http.Response, body []byte) *answer {
	a := &answer{status: resp.StatusCode}
	if a.status == http.StatusTooManyRequests {
		a.after = toldToWait(resp.Header, time.Now())
	}
	var doc struct {
		Message   any    `json:"message"`
		Error     any    `json:"error"`
		Code      string `json:"code"`
		ErrorCode string `json:"error_code"`
		Errors    []any  `json:"errors"` // of an upload
	}
	if json.Unmarshal(body, &doc) != nil {
		return a // HTML or an empty body has no message
	}
	a.code = doc.Code + doc.ErrorCode
	for _, said := range append([]any{doc.Message, doc.Error}, doc.Errors...) {
		if a.text == "" && said != nil {
			a.text = cut(strings.Trim(fmt.Sprint(said), "[] \n"))
		}
	}
	return a
}

func cut(text string) string {
	if r := []rune(text); len(r) > maxText {
		return string(r[:maxText])
	}
	return text
}

// meaning returns the [task.Error] for each status.
func meaning(doing string, a *answer) error {
	code, format := task.CodeUnavailable, "Daytona could not %s for now"
	switch a.status {
	case http.StatusUnauthorized:
		code, format = task.CodeForbidden, "Daytona refused the API key to %s. Next: set DAYTONA_API_KEY to a valid key of https://app.daytona.io/dashboard/keys, then run omoi retry"
	case http.StatusForbidden:
		code, format = task.CodeForbidden, "Daytona does not allow this API key to %s. Next: check that the key has write:sandboxes and delete:sandboxes, and that the organization is active and may use the region"
	case http.StatusNotFound:
		code, format = task.CodeNotFound, "Daytona found no object to %s"
	case http.StatusConflict:
		code, format = task.CodeConflict, "Daytona could not %s during another change of the sandbox"
	case http.StatusGone:
		code, format = task.CodeGone, "Daytona could not %s: the object was deleted"
	case http.StatusTooManyRequests:
		code, format = task.CodeExhausted, "Daytona's rate limit was reached by the request to %s"
		format += " (again in " + a.after.Round(time.Second).String() + ")"
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusMethodNotAllowed:
		code, format = refused(a), "Daytona refused to %s"
	}
	text := fmt.Sprintf(format, doing)
	if a.text != "" {
		text += ": " + a.text
	}
	said := task.Errorf(code, "%s", text)
	said.After = a.after
	return said.WithCause(a)
}

// refused returns [task.CodeExhausted] for a refusal that may pass, as without runners or quota, and
// [task.CodeConflict] for another change in progress, which servers before spring 2026 answered with 400.
func refused(a *answer) task.Code {
	text := strings.ToLower(a.text)
	for _, passing := range []string{"no available runner", "quota", "limit exceeded", "no capacity"} {
		if strings.Contains(text, passing) {
			return task.CodeExhausted
		}
	}
	if strings.Contains(text, "change in progress") || strings.Contains(text, "state change") {
		return task.CodeConflict
	}
	return task.CodeInvalid
}

// statusOf returns the status of the response in err; 0 if there was none.
func statusOf(err error) int {
	if a, ok := errors.AsType[*answer](err); ok {
		return a.status
	}
	return 0
}

// ambiguous reports whether Daytona may have carried out the call that failed with err.
func ambiguous(err error) bool {
	status := statusOf(err)
	return err != nil && (status == 0 && task.CodeOf(err) == task.CodeUnavailable ||
		errors.Is(err, context.DeadlineExceeded) || status == http.StatusRequestTimeout || status >= http.StatusInternalServerError)
}

// passing reports whether poll may retry after err. An error with a wait is false: the wait is longer than the call.
func passing(err error) bool {
	switch task.CodeOf(err) {
	case task.CodeUnavailable, task.CodeExhausted:
		return task.AfterOf(err) == 0
	case task.CodeInternal:
		return errors.Is(err, context.DeadlineExceeded)
	default:
		return false
	}
}
