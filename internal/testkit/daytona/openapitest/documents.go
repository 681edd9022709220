package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// The descriptions, as Daytona's clients carry them.
const (
	fileAPI     = "openapi-api.json"
	fileToolbox = "openapi-toolbox.json"
)

// documents are both descriptions, made strict: what they do not name is wrong.
type documents struct{ api, toolbox *document }

type document struct {
	router routers.Router
	doc    *openapi3.T
}

var loaded = struct { //nolint:gochecknoglobals // reading them takes a while, and tests are many
	sync.Mutex
	dirs map[string]*documents
}{dirs: map[string]*documents{}}

func load(dir string) (*documents, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if known := loaded.dirs[dir]; known != nil {
		return known, nil
	}
	api, err := openapi3.NewLoader().LoadFromFile(filepath.Join(dir, fileAPI))
	if err != nil {
		return nil, fmt.Errorf("read Daytona's description: %w", err)
	}
	toolbox, err := loadToolbox(filepath.Join(dir, fileToolbox))
	if err != nil {
		return nil, err
	}
	d := &documents{}
	if d.api, err = strict(api); err == nil {
		d.toolbox, err = strict(toolbox)
	}
	if err == nil {
		loaded.dirs[dir] = d
	}
	return d, err
}

// loadToolbox reads the older form and makes the newer of it.
func loadToolbox(file string) (*openapi3.T, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read Daytona's description: %w", err)
	}
	var old openapi2.T
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	doc, err := openapi2conv.ToV3(&old)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				// Of these the old form can only say what the JSON beside them looks like.
				delete(response.Value.Content, "text/plain")
				delete(response.Value.Content, "multipart/form-data")
			}
		}
	}
	return doc, nil
}

func strict(doc *openapi3.T) (*document, error) {
	doc.Servers, doc.Security = nil, nil
	closed := false
	for _, schema := range doc.Components.Schemas {
		if len(schema.Value.Properties) > 0 && schema.Value.AdditionalProperties.Schema == nil {
			schema.Value.AdditionalProperties.Has = &closed
		}
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route by Daytona's description: %w", err)
	}
	return &document{router, doc}, nil
}

// check judges one exchange. What a fault answered, or a proxy without a body, is nobody's
// description.
func (d *documents) check(e daytonatest.Exchange) error {
	doc := d.api
	if e.Toolbox {
		doc = d.toolbox
	}
	in, err := doc.route(e)
	if err != nil {
		if e.Status == http.StatusNotFound || e.Injected || e.Status == http.StatusUnauthorized {
			return nil
		}
		return explain(e, err)
	}
	refused := e.Status >= http.StatusBadRequest // a refused request need not be a good one
	if !refused {
		err = errors.Join(openapi3filter.ValidateRequest(e.Request.Context(), in), knownQuery(in))
	}
	if e.Injected || e.Status == http.StatusSwitchingProtocols {
		return explain(e, err)
	}
	return explain(e, errors.Join(err, doc.answer(e, in, refused)))
}

func (d *document) route(e daytonatest.Exchange) (*openapi3filter.RequestValidationInput, error) {
	request := e.Request.Clone(e.Request.Context())
	path, err := url.PathUnescape(e.Path)
	if err != nil {
		return nil, err
	}
	request.URL = &url.URL{Path: path, RawPath: e.Path, RawQuery: e.Request.URL.RawQuery}
	request.Body = io.NopCloser(bytes.NewReader(e.RequestBody))
	route, params, err := d.router.FindRoute(request)
	return &openapi3filter.RequestValidationInput{
		Request: request, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}, err
}

// knownQuery finds parameters that the description does not have.
func knownQuery(in *openapi3filter.RequestValidationInput) error {
	for name := range in.Request.URL.Query() {
		if in.Route.Operation.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("no parameter %q", name)
		}
	}
	return nil
}

// answer judges an answer. Hardly any error is described: they have one shape on each side.
func (d *document) answer(e daytonatest.Exchange, in *openapi3filter.RequestValidationInput, refused bool) error {
	if refused {
		return shape(e)
	}
	if in.Route.Operation.Responses.Status(e.Status) == nil {
		return fmt.Errorf("status %d is not described", e.Status)
	}
	if len(in.Route.Operation.Responses.Status(e.Status).Value.Content) == 0 || !strings.Contains(e.Header.Get("Content-Type"), "json") {
		return nil
	}
	return openapi3filter.ValidateResponse(e.Request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: e.Status, Header: e.Header, Body: io.NopCloser(bytes.NewReader(e.ResponseBody)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
}

// shape judges the body of an error.
func shape(e daytonatest.Exchange) error {
	if e.Toolbox && e.Path == "/files/bulk-upload" {
		return nil // an odd one out
	}
	wanted := []string{"statusCode", "message", "error", "path", "timestamp"}
	if e.Toolbox {
		wanted = []string{"statusCode", "message", "code", "path", "timestamp", "method", "source"}
	}
	var body map[string]any
	if err := json.Unmarshal(e.ResponseBody, &body); err != nil {
		return fmt.Errorf("an error without a JSON body: %w", err)
	}
	for _, field := range wanted {
		if _, there := body[field]; !there {
			return fmt.Errorf("an error without %q", field)
		}
	}
	if len(body) != len(wanted) {
		return fmt.Errorf("an error has %v and no more", wanted)
	}
	return nil
}

func explain(e daytonatest.Exchange, err error) error {
	const shown = 600
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s answered %d: %w\nrequest: %s\nanswer: %s", e.Request.Method, e.Request.URL, e.Status, err,
		e.RequestBody[:min(len(e.RequestBody), shown)], e.ResponseBody[:min(len(e.ResponseBody), shown)])
}
