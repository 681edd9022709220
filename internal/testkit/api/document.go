package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

const eventStream = "text/event-stream"

// Document is an OpenAPI document. It is safe for concurrent use.
type Document struct {
	router  routers.Router
	schemas *Schemas
	frame   *openapi3.SchemaRef // of the data of a frame of a stream
}

// Senders says what the senders of events do in a test.
type Senders int

// Senders of events.
const (
	GoodSenders Senders = iota // send events of a known type as the document describes them
	AnySenders                 // may send any fields, which omoi stores as they are
)

// Load reads the document in a file, once a process for each kind of senders.
func Load(file string, from Senders) (*Document, error) {
	loaded.Lock()
	defer loaded.Unlock()
	key := reading{file, from}
	if known := loaded.documents[key]; known != nil {
		return known, nil
	}
	doc, err := load(file, from)
	if err == nil {
		loaded.documents[key] = doc
	}
	return doc, err
}

type reading struct {
	file string
	from Senders
}

var loaded = struct { //nolint:gochecknoglobals // reading one takes a while, and tests are many
	sync.Mutex
	documents map[reading]*Document
}{documents: map[reading]*Document{}}

func load(file string, from Senders) (*Document, error) {
	openapi3filter.RegisterBodyDecoder(eventStream, openapi3filter.FileBodyDecoder)
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("load the OpenAPI document: %w", err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route by the OpenAPI document: %w", err)
	}
	closeAnswers(doc.Components.Schemas, from)
	schemas, err := NewSchemas(doc)
	return &Document{router: router, schemas: schemas, frame: doc.Components.Schemas["Event"]}, err
}

// closeAnswers makes a fault of what the document permits, and omoi does not do: an answer with properties that the document does not
// name, and, of good senders, an event of a known type whose fields are of other types.
func closeAnswers(schemas openapi3.Schemas, from Senders) {
	for name, schema := range schemas {
		part := strings.HasSuffix(name, "Base") // closed by the whole
		if s := schema.Value; len(s.Properties) > 0 && !part && s.AdditionalProperties == (openapi3.AdditionalProperties{}) {
			s.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
		}
		if not := schema.Value.Not; from == GoodSenders && not != nil && not.Value != nil {
			not.Value.AnyOf = typesOnly(not.Value.AnyOf)
		}
	}
}

// typesOnly returns the schemas of the property event_type of events.
func typesOnly(events openapi3.SchemaRefs) (types openapi3.SchemaRefs) {
	for _, event := range events {
		typed := event.Value.AllOf[len(event.Value.AllOf)-1].Value
		only := openapi3.NewObjectSchema().WithPropertyRef("event_type", typed.Properties["event_type"])
		types = append(types, openapi3.NewSchemaRef("", only.WithRequired([]string{"event_type"})))
	}
	return types
}

// Answer says what is wrong with an answer of an omoi server; body is all of it.
func (d *Document) Answer(res *http.Response, body []byte) error {
	in, err := d.request(res.Request)
	if err != nil {
		return unrouted(res)
	}
	isJSON := strings.HasSuffix(res.Header.Get("Content-Type"), "json")
	err = openapi3filter.ValidateResponse(res.Request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: res.StatusCode, Header: res.Header,
		Body:    io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: isJSON},
	})
	if isJSON && err == nil {
		err = d.json(in.Route.Operation, res, body)
	}
	return d.explain(res, body, errors.Join(err, d.stream(res, body)))
}

// json checks a body in JSON. [openapi3filter.ValidateResponse] would compile its schema each time.
func (d *Document) json(asked *openapi3.Operation, res *http.Response, body []byte) error {
	answer := asked.Responses.Status(res.StatusCode)
	if answer == nil {
		answer = asked.Responses.Default()
	}
	if answer == nil || len(answer.Value.Content) == 0 || res.Request.Method == http.MethodHead {
		return nil
	}
	kind := res.Header.Get("Content-Type")
	content := answer.Value.Content.Get(kind)
	if content == nil {
		return fmt.Errorf("the document does not name the content type %s", kind)
	}
	return d.schemas.Check(content.Schema, body)
}

// Request says what is wrong with a request, credentials aside.
func (d *Document) Request(req *http.Request) error {
	in, err := d.request(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
	}
	in.Options = &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	return openapi3filter.ValidateRequest(req.Context(), in)
}

func (d *Document) request(req *http.Request) (*openapi3filter.RequestValidationInput, error) {
	path, old := withoutPrefixes(req.URL.Path)
	if old {
		if in, err := d.find(req, legacyPrefix+path); err == nil {
			return in, nil
		}
	}
	return d.find(req, path)
}

func (d *Document) find(req *http.Request, path string) (*openapi3filter.RequestValidationInput, error) {
	bare := *req
	bare.URL = &url.URL{Path: path, RawQuery: req.URL.RawQuery}
	route, params, err := d.router.FindRoute(&bare)
	return &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}, err
}

// legacyPrefix is in the base address of clients of OmoiOS.
const legacyPrefix = "/legacy"

// withoutPrefixes returns the path behind /t/<token>, which legacy workers have in their base address, and legacyPrefix, and
// whether the latter was there.
func withoutPrefixes(path string) (rest string, old bool) {
	rest, before := strings.CutPrefix(path, legacyPrefix+"/")
	if before {
		rest = "/" + rest
	}
	if behind, found := strings.CutPrefix(rest, "/t/"); found {
		_, rest, _ = strings.Cut(behind, "/")
		rest = "/" + rest
	}
	if behind, found := strings.CutPrefix(rest, legacyPrefix+"/"); found {
		return "/" + behind, true
	}
	return rest, before
}

// unrouted judges an answer to a request that the document does not know.
func unrouted(res *http.Response) error {
	known := []string{
		"/", "/api/v1/openapi.json", "/api/v1/openapi.yaml", "/api/v1/openapi-3.0.json", "/api/v1/openapi-3.0.yaml",
		"/api/v1/ws/events", "/mcp",
	}
	none := []int{
		http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMovedPermanently, http.StatusTemporaryRedirect,
	}
	if slices.Contains(known, res.Request.URL.Path) || slices.Contains(none, res.StatusCode) {
		return nil
	}
	return fmt.Errorf("%s %s answered %d, but api/openapi.json does not know that route",
		res.Request.Method, res.Request.URL.Path, res.StatusCode)
}

func (d *Document) explain(res *http.Response, body []byte, err error) error {
	const shown = 1000
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s answered %d, which is not what api/openapi.json says: %w\n%s",
		res.Request.Method, res.Request.URL.Path, res.StatusCode, err, body[:min(len(body), shown)])
}

// stream checks the frames of a stream. The last one may be cut off.
func (d *Document) stream(res *http.Response, body []byte) error {
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), eventStream) {
		return nil
	}
	return d.frames(body[:max(0, bytes.LastIndex(body, []byte("\n\n")))])
}

// frames checks the data of frames.
func (d *Document) frames(text []byte) error {
	for frame := range bytes.SplitSeq(text, []byte("\n\n")) {
		if data := dataOf(frame); data != nil {
			if err := d.schemas.Check(d.frame, data); err != nil {
				return fmt.Errorf("data of a stream: %w", err)
			}
		}
	}
	return nil
}

// dataOf returns the data of a server-sent event; nil for a control frame, which has a name of its own.
func dataOf(frame []byte) (data []byte) {
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("event: ")) {
			return nil
		}
		if text, found := bytes.CutPrefix(line, []byte("data: ")); found {
			data = text
		}
	}
	return data
}
