package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the address of the document for references.
const document = "omoi:openapi.json"

// Schemas checks values against schemas of a document, and compiles each schema once. It is safe for concurrent use.
type Schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[*openapi3.SchemaRef]*jsonschema.Schema
}

// NewSchemas returns the schemas of a document, which must not change any more.
func NewSchemas(doc *openapi3.T) (*Schemas, error) {
	s := &Schemas{compiler: jsonschema.NewCompiler(), compiled: map[*openapi3.SchemaRef]*jsonschema.Schema{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	return s, s.add(document, doc)
}

// Check says what is wrong with a value in JSON.
func (s *Schemas) Check(schema *openapi3.SchemaRef, text []byte) error {
	compiled, err := s.compile(schema)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return compiled.Validate(value)
}

func (s *Schemas) compile(schema *openapi3.SchemaRef) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.compiled[schema]; known != nil {
		return known, nil
	}
	address := fmt.Sprintf("omoi:schema%d.json", len(s.compiled))
	if err := s.add(address, schema); err != nil {
		return nil, err
	}
	compiled, err := s.compiler.Compile(address)
	s.compiled[schema] = compiled
	return compiled, err
}

// add adds a part of the document; its references are those of the whole.
func (s *Schemas) add(address string, part any) error {
	text, err := json.Marshal(part)
	if err != nil {
		return fmt.Errorf("write %s: %w", address, err)
	}
	text = bytes.ReplaceAll(text, []byte(`"$ref":"#/`), []byte(`"$ref":"`+document+`#/`))
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	return s.compiler.AddResource(address, resource)
}
