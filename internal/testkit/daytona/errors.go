package daytona

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// refusal is an error with what the API answers to it.
type refusal struct {
	status  int
	message string
	wait    string // header Retry-After of a failed login
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, format, args...)
}

func errChanging() error {
	return refuse(http.StatusConflict, "Sandbox state change in progress")
}

// errAbort ends a connection without an answer.
var errAbort = errors.New("no answer")

// apiError is how the main API tells of an error.
type apiError struct {
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Error      string `json:"error"`
	Path       string `json:"path"`
	Timestamp  string `json:"timestamp"`
}

// proxyError is how the toolbox's proxy does.
type proxyError struct {
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Code       string `json:"code"`
	Path       string `json:"path"`
	Timestamp  string `json:"timestamp"`
	Method     string `json:"method"`
	Source     string `json:"source"`
}

func failAPI(w http.ResponseWriter, r *http.Request, err error) {
	no := asRefusal(err)
	if no.wait != "" {
		w.Header().Set("Retry-After", no.wait)
	}
	answer(w, no.status, apiError{no.status, no.message, http.StatusText(no.status), r.URL.Path, stamp(time.Now())})
}

func failProxy(w http.ResponseWriter, r *http.Request, err error) {
	no := asRefusal(err)
	code := strings.ToUpper(strings.ReplaceAll(http.StatusText(no.status), " ", "_"))
	answer(w, no.status, proxyError{no.status, no.message, code, r.URL.Path, stamp(time.Now()), r.Method, "DAYTONA_PROXY"})
}

func asRefusal(err error) *refusal {
	var no *refusal
	switch {
	case errors.Is(err, errAbort):
		panic(http.ErrAbortHandler)
	case errors.As(err, &no):
		return no
	default:
		return &refusal{status: http.StatusInternalServerError, message: err.Error()}
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // our own types
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that is gone does not matter
}

// read takes the body of a request; fields that nobody knows are passed over, as Daytona does.
func read(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return badRequest("Invalid request body: %s", err)
	}
	return nil
}
