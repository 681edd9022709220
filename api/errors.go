package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

const (
	problemType = "application/problem+json"
	statusGone  = 499 // as proxies log it; the client has closed the connection
)

// problem is a [client.Problem] that huma can send.
type problem struct {
	client.Problem
}

func (p *problem) Error() string { return p.Detail }

func (p *problem) GetStatus() int { return p.Status }

func (p *problem) ContentType(string) string { return problemType }

func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", retryAfter)
	}
	return h
}

// newProblem returns the problem document of a code; location names the invalid field, if any.
func newProblem(ctx context.Context, code task.Code, kind task.Kind, detail, location string) *problem {
	status := client.StatusOf(code)
	detail, location = token.HideIn(detail), token.HideIn(location) // both may echo input
	p := &problem{client.Problem{
		Type: typeOf(kind), Title: http.StatusText(status), Status: status, Detail: detail, Code: kind,
		Instance: requestID(ctx),
	}}
	if asked := requestOf(ctx); asked != nil && asked.agent {
		p.Code = task.Kind(code) // omoi-agent knows this code only: it splits a batch that is invalid
	}
	if location != "" {
		p.Errors = []client.ProblemDetail{{Location: location, Message: detail}}
	}
	return p
}

// typeOf returns the URL of a kind's entry in the list of errors.
func typeOf(kind task.Kind) string {
	return "https://github.com/omoi-dev/omoi/blob/main/docs/ERRORS.md#" + string(kind)
}

// kindOfStatus returns the kind of an HTTP error; empty for a status that has a code.
func kindOfStatus(status int) task.Kind {
	switch status {
	case http.StatusBadRequest:
		return task.KindMalformedBody
	case http.StatusMethodNotAllowed:
		return task.KindMethod
	case http.StatusRequestTimeout:
		return task.KindRequestTimeout
	case http.StatusRequestEntityTooLarge:
		return task.KindBodyTooLarge
	case http.StatusUnsupportedMediaType:
		return task.KindContentType
	case http.StatusBadGateway:
		return task.KindUpstream
	}
	return ""
}

// fail converts an error of a handler to a problem document and logs what the document omits.
func (a *API) fail(ctx context.Context, err error, where string) *problem {
	if errors.Is(err, context.Canceled) {
		err = task.Errorf(task.CodeUnavailable, "The caller cancelled the request.").WithCause(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = task.Errorf(task.CodeUnavailable, "The request took too long. Next: send it again in a moment").WithKind(task.KindTimeout).WithCause(err)
	}
	code := task.CodeOf(err)
	gone := errors.Is(ctx.Err(), context.Canceled) // the client has disconnected
	if level, ok := logLevel(code); ok && !gone {
		a.log.LogAttrs(ctx, level, "request failed", slog.String("request_id", requestID(ctx)),
			slog.String("error", token.HideIn(err.Error())))
	}
	p := newProblem(ctx, code, task.KindOf(err), sentenceOf(err), locationOf(err, where))
	if gone {
		p.Status, p.Title = statusGone, "The caller went away"
	}
	if e, ok := errors.AsType[*statusError](err); ok { // a client that only stopped sending still reads
		p.Status, p.Title = e.status, http.StatusText(e.status)
	}
	if mark, ok := ingest.AcknowledgedOf(err); ok {
		p.Acknowledged = &mark
	}
	p.MessageID, _ = ingest.RefusedOf(err)
	if closed, ok := errors.AsType[*closedError](err); ok {
		p.Question = &closed.question
	}
	if alike, ok := errors.AsType[*alikeError](err); ok {
		p.Duplicates = &alike.report
	}
	return p
}

// logLevel returns the level of a failed request; false: not logged. An outage is a warning: /readyz names its cause.
func logLevel(code task.Code) (slog.Level, bool) {
	if code == task.CodeInternal {
		return slog.LevelError, true
	}
	return slog.LevelWarn, code == task.CodeUnavailable
}

// sentenceOf returns the public message of an error, which names the invalid field.
func sentenceOf(err error) string {
	message := task.MessageOf(err)
	e, ok := errors.AsType[*task.Error](err)
	if !ok || e.Field == "" || strings.Contains(message, e.Field[strings.LastIndex(e.Field, ".")+1:]) {
		return message
	}
	return e.Field + ": " + message
}

// locationOf returns the path of the invalid field; where is body or query.
func locationOf(err error, where string) string {
	e, ok := errors.AsType[*task.Error](err)
	switch {
	case !ok || e.Field == "":
		return ""
	case e.Field == "Idempotency-Key":
		return "header." + e.Field
	case strings.HasPrefix(e.Field, "path."), strings.HasPrefix(e.Field, "query."), e.Field == "query":
		return e.Field
	}
	return where + "." + e.Field
}

// transform converts the documents that huma creates itself, so that all errors of the server have one form.
func (a *API) transform(ctx huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := client.CodeOf(model.Status)
	p := newProblem(ctx.Context(), code, cmp.Or(kindOfStatus(model.Status), task.Kind(code)), model.Detail, "")
	p.Status, p.Title = model.Status, http.StatusText(model.Status)
	for _, e := range model.Errors {
		p.Errors = append(p.Errors, client.ProblemDetail{
			Location: token.HideIn(e.Location), Message: token.HideIn(e.Message), Value: shortValue(e.Value),
		})
	}
	p.Detail = token.HideIn(detailOf(model))
	if model.Status == http.StatusUnsupportedMediaType {
		p.Detail = fmt.Sprintf("Unsupported content type %q: use application/json.", clip(ctx.Header("Content-Type")))
	}
	return p, nil
}

const tooLong = "The request body is too long: at most %s are accepted, uncompressed. Next: put long texts into the " +
	"repository, and their path into the task"

// inBytes formats a limit for humans.
func inBytes(limit int64) string {
	if limit%mib == 0 {
		return strconv.FormatInt(limit/mib, 10) + " MiB"
	}
	return strconv.FormatInt(limit, 10) + " bytes"
}

// detailOf returns a sentence that names the first invalid field.
func detailOf(model *huma.ErrorModel) string {
	switch {
	case model.Status == http.StatusBadRequest && len(model.Errors) > 0:
		return "Invalid request body: " + strings.TrimSuffix(model.Errors[0].Message, ".") + "."
	case len(model.Errors) == 0:
		return sentenceCase(model.Detail)
	}
	first := model.Errors[0]
	_, field, _ := strings.Cut(first.Location, ".")
	if field == "" {
		field = first.Location
	}
	detail := fmt.Sprintf("%s: %s", field, first.Message)
	if first.Message == validation.MsgUnexpectedProperty {
		detail = fmt.Sprintf("Unknown field %q in the request body", strings.TrimPrefix(field, "body."))
	}
	if more := len(model.Errors) - 1; more > 0 {
		detail += " (and " + strconv.Itoa(more) + " more)"
	}
	return detail + "."
}

// shortValue returns v only if it is short: a long value may be a whole body.
func shortValue(v any) any {
	const longest = 100
	switch s := v.(type) {
	case string:
		if utf8.RuneCountInString(s) <= longest {
			return token.HideIn(s)
		}
	case bool, int, int64, float64:
		return s
	}
	return nil
}
