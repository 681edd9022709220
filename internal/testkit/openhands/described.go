package openhands

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/openhands"
)

// Description is the variable with the file of the API description, as the real server serves it at /openapi.json. Without it, the file is
// that of ../shared/openhands beside the repository.
const Description = "OMOI_OPENHANDS_OPENAPI"

// described holds each request and each success of a fake against the description of the API. What the description does not name is wrong.
// Requests must be complete, and answers have what omoi reads.
func described(t *testing.T, to http.Handler) http.Handler {
	t.Helper()
	file := descriptionFile()
	if file == "" {
		t.Logf("SKIPPED: nothing is held against the description of the OpenHands server; set %s to its /openapi.json of version %s", Description, openhands.Tested)
		return to
	}
	asked, answered := descriptions(t, file)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		got := httptest.NewRecorder()
		to.ServeHTTP(got, r)
		if got.Code < http.StatusBadRequest {
			if err := errors.Join(asked.request(r, body), answered.answer(r, got)); err != nil {
				t.Errorf("not as the OpenHands server describes it: %s %s: %v", r.Method, r.URL, err)
			}
		}
		maps.Copy(w.Header(), got.Header())
		w.WriteHeader(got.Code)
		_, _ = w.Write(got.Body.Bytes())
	})
}

// descriptionFile returns the path of the description; empty: there is none.
func descriptionFile() string {
	if file := os.Getenv(Description); file != "" {
		return file
	}
	at, _ := os.Getwd()
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		file := filepath.Join(at, "..", "shared", "openhands", "agent-server-openapi-1.58.json")
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err != nil {
			continue
		}
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// description is a description that allows nothing else.
type description struct {
	router routers.Router
	doc    *openapi3.T
}

//nolint:gochecknoglobals // reading takes a while
var read sync.Map

// descriptions returns the description for requests, and the one for answers, which may be incomplete.
func descriptions(t *testing.T, file string) (asked, answered description) {
	t.Helper()
	once, _ := read.LoadOrStore(file, sync.OnceValues(func() ([2]description, error) {
		whole, err := load(file)
		part, also := load(file)
		for _, schema := range part.doc.Components.Schemas {
			schema.Value.Required = nil
		}
		return [2]description{whole, part}, errors.Join(err, also)
	}))
	both, err := once.(func() ([2]description, error))() //nolint:errcheck,forcetypeassert // its own
	require.NoError(t, err)
	return both[0], both[1]
}

func load(file string) (description, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		return description{doc: &openapi3.T{Components: &openapi3.Components{}}}, fmt.Errorf("read %s: %w", file, err)
	}
	doc.Servers, doc.Security = nil, nil
	closed := false
	for _, schema := range doc.Components.Schemas {
		schema.Value.Discriminator = nil                   // the server names other values than it sends
		for _, property := range schema.Value.Properties { // copies, if a description stands beside the reference
			property.Value.Discriminator = nil
		}
		if kind := schema.Value.Properties["kind"]; kind != nil && kind.Value.Const != nil {
			kind.Value.Enum = []any{kind.Value.Const} // which the validator knows
		}
		if len(schema.Value.Properties) > 0 && schema.Value.AdditionalProperties.Schema == nil {
			schema.Value.AdditionalProperties.Has = &closed
		}
	}
	router, err := gorillamux.NewRouter(doc)
	return description{router, doc}, err
}

func (d description) find(r *http.Request) (*openapi3filter.RequestValidationInput, error) {
	route, params, err := d.router.FindRoute(r)
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}, err
}

// request judges a request.
func (d description) request(r *http.Request, body []byte) error {
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	in, err := d.find(again)
	if err != nil {
		return err
	}
	for name := range r.URL.Query() {
		if in.Route.Operation.Parameters.GetByInAndName("query", name) == nil {
			err = fmt.Errorf("no parameter %q", name)
		}
	}
	return errors.Join(err, openapi3filter.ValidateRequest(r.Context(), in))
}

// answer judges an answer, and the events in it: the description does not say that they are the items of a page.
func (d description) answer(r *http.Request, got *httptest.ResponseRecorder) error {
	in, err := d.find(r)
	if err != nil || got.Header().Get("Content-Type") != "application/json" {
		return err
	}
	status := min(got.Code, http.StatusOK) // 201 is not described
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: status, Header: got.Header(), Body: io.NopCloser(bytes.NewReader(got.Body.Bytes())),
	})
	if strings.HasSuffix(r.URL.Path, "/events/search") {
		err = errors.Join(err, d.events(got.Body.Bytes()))
	}
	return err
}
