package api

import (
	"encoding/json"
	"errors"
	"maps"

	"github.com/danielgtaylor/huma/v2"
)

// formats are huma's, with errors in plain words.
func formats(known map[string]huma.Format) map[string]huma.Format {
	own := maps.Clone(known)
	for _, name := range []string{"application/json", "json"} {
		format := own[name]
		format.Unmarshal = readJSON
		own[name] = format
	}
	return own
}

// readJSON reads a body: once into any, to be validated, and once into its type.
func readJSON(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
		return decodeError(err)
	}
	return err
}
