package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// formats are huma's, with errors in plain words for JSON whose numbers do not fit.
func formats(known map[string]huma.Format) map[string]huma.Format {
	own := maps.Clone(known)
	for _, name := range []string{"application/json", "json"} {
		format := own[name]
		format.Unmarshal = readJSON
		own[name] = format
	}
	return own
}

// readJSON reads a body: once into any, to be validated, and once into its type. A number that no type holds is no fault of the
// form, so that it passes as infinite the first time and is refused with its field the second.
func readJSON(body []byte, into any) error {
	target, loose := into.(*any)
	if !loose {
		return decodeError(json.Unmarshal(body, into))
	}
	numbers := json.NewDecoder(bytes.NewReader(body))
	numbers.UseNumber()
	if !json.Valid(body) || numbers.Decode(target) != nil {
		return json.Unmarshal(body, target) // which says what is wrong
	}
	*target = floats(*target)
	return nil
}

// floats turns numbers as they were written into those that huma validates.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		number, _ := strconv.ParseFloat(v.String(), 64) // infinite if it is out of range
		return number
	case []any:
		for n := range v {
			v[n] = floats(v[n])
		}
	case map[string]any:
		for name := range v {
			v[name] = floats(v[name])
		}
	}
	return v
}
