package api

import (
	"embed"
	"encoding/json"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// exampleFiles hold a request and its response for each main operation, as recorded from a server. IDs and times are
// changed.
//
//go:embed examples/*.json
var exampleFiles embed.FS

type example struct {
	Status  int             `json:"status"`
	Request json.RawMessage `json:"request"`
	Answer  json.RawMessage `json:"answer"`
}

// exampleOf returns the example of an operation.
func exampleOf(operationID string) (e example, found bool) {
	content, err := exampleFiles.ReadFile("examples/" + operationID + ".json")
	return e, err == nil && json.Unmarshal(content, &e) == nil
}

// addExamples adds the examples to the document.
func addExamples(document *huma.OpenAPI) {
	for _, item := range document.Paths {
		for _, op := range operationsOf(item) {
			e, found := exampleOf(op.OperationID)
			if !found {
				continue
			}
			op.Responses[strconv.Itoa(e.Status)].Content["application/json"].Example = e.Answer
			if e.Request != nil {
				op.RequestBody.Content["application/json"].Example = e.Request
			}
		}
	}
}
