package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// openAnswers allows unknown properties in responses; only requests are closed. A schema that both use is duplicated,
// and requests get the copy whose name ends in Request.
func openAnswers(document *huma.OpenAPI) {
	schemas, asked, answered := document.Components.Schemas.Map(), requestSchemas(document), answerSchemas(document)
	closed := map[string]huma.Schema{}
	for name := range answered {
		if asked[name] && schemas[name].AdditionalProperties == false {
			closed[name] = *schemas[name]
		}
	}
	eachRequest(document, func(s *huma.Schema) {
		if _, both := closed[strings.TrimPrefix(s.Ref, schemaPrefix)]; both {
			s.Ref += "Request"
		}
	})
	for name, schema := range schemas {
		if schema.AdditionalProperties == false && (!asked[name] || answered[name]) {
			schema.AdditionalProperties = nil
		}
	}
	for name, schema := range closed {
		schemas[name+"Request"] = &schema
	}
}

// requestSchemas returns the names of the schemas in request bodies.
func requestSchemas(document *huma.OpenAPI) map[string]bool {
	return eachRequest(document, func(*huma.Schema) {})
}

// eachRequest calls see with each schema in request bodies, and returns the names of the named schemas.
func eachRequest(document *huma.OpenAPI, see func(*huma.Schema)) map[string]bool {
	found := map[string]bool{}
	for _, item := range document.Paths {
		for _, op := range operationsOf(item) {
			if op.RequestBody != nil {
				visitContent(document, op.RequestBody.Content, found, see)
			}
		}
	}
	return found
}

// answerSchemas returns the names of the schemas in responses.
func answerSchemas(document *huma.OpenAPI) map[string]bool {
	found := map[string]bool{}
	for _, item := range document.Paths {
		for _, op := range operationsOf(item) {
			for _, response := range op.Responses {
				visitContent(document, response.Content, found, func(*huma.Schema) {})
			}
		}
	}
	return found
}

func operationsOf(item *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete}
	return slices.DeleteFunc(all, func(op *huma.Operation) bool { return op == nil })
}

// visitContent calls see once with each schema of a body, and adds the names of named schemas to found.
func visitContent(document *huma.OpenAPI, content map[string]*huma.MediaType, found map[string]bool, see func(*huma.Schema)) {
	var visit func(s *huma.Schema)
	visit = func(s *huma.Schema) {
		if s == nil {
			return
		}
		name, named := strings.CutPrefix(s.Ref, schemaPrefix)
		see(s)
		if named && !found[name] {
			found[name] = true
			visit(document.Components.Schemas.Map()[name])
		}
		for _, inner := range partsOf(s) {
			visit(inner)
		}
	}
	for _, media := range content {
		visit(media.Schema)
	}
}

// partsOf returns the schemas inside a schema.
func partsOf(s *huma.Schema) []*huma.Schema {
	parts := slices.Concat(slices.Collect(maps.Values(s.Properties)), s.OneOf, s.AnyOf, s.AllOf, []*huma.Schema{s.Items, s.Not})
	if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
		parts = append(parts, values)
	}
	return parts
}
