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

// answer is what Daytona, its proxy or something between said that is no success.
type answer struct {
	status int
	code   string        // of the toolbox, where it gives one
	text   string        // at most maxText runes; empty where the body was
	after  time.Duration // for how long a rate limit wants to be left alone
}

func (a *answer) Error() string {
	return strings.TrimRight(fmt.Sprintf("status %d: %s %s", a.status, a.code, a.text), ": ")
}

const maxText = 300

// bodied are the errors of both official clients.
type bodied interface {
	error
	Body() []byte
}

// classify says what an answer of Daytona means. doing completes "Daytona could not ...".
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
		return task.Errorf(task.CodeUnavailable, "Daytona cannot be reached to %s", doing).WithCause(err)
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

// read takes an error answer apart, in any of its shapes.
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
		return a // HTML, or nothing: it says nothing to anybody
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

// meaning is the table of what each status means to us.
func meaning(doing string, a *answer) error {
	code, format := task.CodeUnavailable, "Daytona could not %s for now"
	switch a.status {
	case http.StatusUnauthorized:
		code, format = task.CodeForbidden, "Daytona refused the API key to %s: set DAYTONA_API_KEY to a valid key of https://app.daytona.io/dashboard/keys, then omoi retry"
	case http.StatusForbidden:
		code, format = task.CodeForbidden, "Daytona does not allow this API key to %s: it needs write:sandboxes and delete:sandboxes, a region that is open to it and an organization in good standing"
	case http.StatusNotFound:
		code, format = task.CodeNotFound, "Daytona has nothing to %s"
	case http.StatusConflict:
		code, format = task.CodeConflict, "Daytona could not %s while something else changes the sandbox"
	case http.StatusGone:
		code, format = task.CodeGone, "Daytona could not %s: it is over"
	case http.StatusTooManyRequests:
		code, format = task.CodeExhausted, "Daytona's rate limit does not let omoi %s now"
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

// refused tells a refusal for good from one that time mends: no runner, no quota. Before spring
// 2026 a change under way was a 400 too.
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

// statusOf is the status of the answer behind err; 0 if there was none.
func statusOf(err error) int {
	if a, ok := errors.AsType[*answer](err); ok {
		return a.status
	}
	return 0
}

// ambiguous reports whether the call behind err may have been carried out all the same.
func ambiguous(err error) bool {
	status := statusOf(err)
	return err != nil && (status == 0 && task.CodeOf(err) == task.CodeUnavailable ||
		errors.Is(err, context.DeadlineExceeded) || status == http.StatusRequestTimeout || status >= http.StatusInternalServerError)
}

// passing reports whether a look that failed is worth another at once: not where Daytona has said
// when it is, which is later than a call waits for.
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
