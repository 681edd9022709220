package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
)

// retryAfter is the header Retry-After of rejected requests, in seconds.
const retryAfter = "1"

// responses describes all responses of a route: success, other successes and every error. Tests compare each response
// with this description.
func (a *API) responses(r route) map[string]*huma.Response {
	found := map[string]*huma.Response{}
	for _, status := range append(statusesOf(r), r.fails...) {
		found[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + strconv.Itoa(status)}
	}
	if r.text != "" {
		found[strconv.Itoa(http.StatusOK)] = &huma.Response{
			Description: http.StatusText(http.StatusOK),
			Content:     map[string]*huma.MediaType{r.text: a.textOf(r)},
		}
	}
	for status, body := range r.also {
		found[strconv.Itoa(status)] = responseOf(a.huma.OpenAPI().Components.Schemas, status, body)
	}
	return found
}

// textOf describes a response that is not JSON. OpenAPI 3.1 cannot describe the data lines of a stream; itemSchema is
// from OpenAPI 3.2.
func (a *API) textOf(r route) *huma.MediaType {
	m := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	if r.text == eventStream {
		m.Extensions = map[string]any{"x-itemSchema": a.itemOf(r.frames)}
	}
	return m
}

// itemOf describes the content of a stream's frames.
func (a *API) itemOf(frames []any) *huma.Schema {
	registry := a.huma.OpenAPI().Components.Schemas
	if frames == nil {
		return schemaOf[client.Event](registry)
	}
	item := &huma.Schema{}
	for _, content := range frames {
		item.AnyOf = append(item.AnyOf, registry.Schema(reflect.TypeOf(content), true, ""))
	}
	return item
}

// statusesOf lists the errors that follow from the settings of a route; route.fails lists the others.
func statusesOf(r route) []int {
	found := []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusUnprocessableEntity}
	switch r.access {
	case accessSigned:
	case accessNone:
		found = append(found, http.StatusForbidden) // see noPage
	default:
		found = append(found, http.StatusUnauthorized, http.StatusForbidden)
	}
	if strings.Contains(r.path, "{") {
		found = append(found, http.StatusNotFound)
	}
	if slices.Contains([]access{accessSandbox, accessInbox, accessInspect}, r.access) {
		found = append(found, http.StatusGone)
	}
	if r.method != http.MethodGet {
		found = append(found, http.StatusConflict)
	}
	if takesBody(r.method) {
		found = append(found, http.StatusBadRequest, http.StatusNotFound, http.StatusRequestTimeout,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return found
}

func takesBody(method string) bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, method)
}

// problems returns the error responses to which routes refer, by status.
func problems(registry huma.Registry) map[string]*huma.Response {
	found := map[string]*huma.Response{}
	for status, meaning := range meanings() {
		found[strconv.Itoa(status)] = &huma.Response{
			Description: meaning,
			Content:     map[string]*huma.MediaType{problemType: {Schema: schemaOf[client.Problem](registry)}},
			Headers:     headersOf(status),
		}
	}
	return found
}

func meanings() map[int]string {
	return map[int]string{
		http.StatusBadRequest:     "The body is not valid JSON, gzip or chunked encoding.",
		http.StatusUnauthorized:   "The credential is missing, unknown, revoked or expired.",
		http.StatusForbidden:      "The credential does not permit this.",
		http.StatusNotFound:       "Not found, or owned by another organization.",
		http.StatusRequestTimeout: "The body did not arrive completely, or not in time. Send the request again.",
		http.StatusConflict: "The state of the object does not allow this. For a batch with a gap, acknowledged is the " +
			"number of the last stored event.",
		http.StatusGone:                  "The sandbox is deleted, or retention removed the data on the date in detail.",
		http.StatusRequestEntityTooLarge: "The body is too long.",
		http.StatusUnsupportedMediaType:  "The content type or encoding of the body is not supported.",
		http.StatusUnprocessableEntity:   "A value is not valid; errors names each one.",
		http.StatusTooManyRequests:       "A limit is reached. Repeat after Retry-After.",
		http.StatusInternalServerError:   "The server failed. Its log has the details under the ID in instance.",
		http.StatusServiceUnavailable: "Temporarily unavailable. Repeat after Retry-After. Nothing was done; if the " +
			"database did not answer, the outcome is unknown.",
	}
}

func headersOf(status int) map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return map[string]*huma.Header{"Retry-After": {Description: "Seconds to wait", Required: true, Schema: &huma.Schema{Type: huma.TypeInteger}}}
	case http.StatusUnauthorized:
		return map[string]*huma.Header{"WWW-Authenticate": {Description: "Scheme of the credentials that the server accepts.", Schema: text}}
	}
	return nil
}
