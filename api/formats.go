package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/internal/task"
)

// formats returns the formats of huma, with plain error messages.
func formats(known map[string]huma.Format) map[string]huma.Format {
	own := maps.Clone(known)
	for _, name := range []string{"application/json", "json"} {
		format := own[name]
		format.Unmarshal = readJSON
		own[name] = format
	}
	return own
}

// readJSON decodes a body into an any for validation, and into its type.
func readJSON(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch _, untyped := into.(*any); {
	case ok && untyped:
		return outOfRange(body, wrong)
	case ok:
		return decodeError(err)
	case err != nil:
		return fmt.Errorf("invalid JSON: %w", err)
	}
	return nil
}

// outOfRange returns the error of a number that float64 cannot hold, the only possible error when decoding into any. It
// names the field, which encoding/json does not know.
func outOfRange(body []byte, wrong *json.UnmarshalTypeError) error {
	var parsed any
	field := ""
	err := jsonv2.Unmarshal(body, &parsed, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if located, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		field = clip(strings.Join(slices.Collect(located.JSONPointer.Tokens()), "."))
	}
	return task.Invalid(field, "The number %s of the field %s is out of range.",
		clip(valueOf(wrong)), cmp.Or(field, "body"))
}
