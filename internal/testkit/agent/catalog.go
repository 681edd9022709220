package agent

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event/catalog"
)

// RequireDescribed fails for a field of stored events that the catalog lacks, or that is not the same bytes after it
// was decoded as the catalog says and encoded again.
func (s *Server) RequireDescribed(tb testing.TB) {
	tb.Helper()
	known := catalog.Events()
	for _, e := range s.Events() {
		require.Contains(tb, known, e.Type)
		var fields map[string]json.RawMessage
		whole := bytes.ReplaceAll(e.Raw, []byte(`\ufffd`), []byte("\ufffd")) // omoi-agent writes the former for U+0000
		require.NoError(tb, json.Unmarshal(whole, &fields))
		for name, raw := range fields {
			f, ok := known[e.Type].Fields[name]
			require.True(tb, ok, "%s of %s: %s is not described", name, e.Type, raw)
			if f.Nullable && string(raw) == "null" {
				continue
			}
			again, err := recode(f.Type, raw)
			require.NoError(tb, err, "%s of %s is not of the type %s: %s", name, e.Type, f.Type, raw)
			require.Equal(tb, string(raw), string(again), "%s of %s", name, e.Type)
		}
		again, err := json.Marshal(fields)
		require.NoError(tb, err)
		require.Equal(tb, string(whole), string(again), e.Type)
	}
}

// recode decodes a value as a type of the catalog, and encodes it.
func recode(kind string, raw json.RawMessage) ([]byte, error) {
	target := map[string]any{
		"string": new(string), "integer": new(int64), "number": new(float64), "boolean": new(bool),
		"object": new(map[string]any), "array": new([]any), "any": new(any),
	}[kind]
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	if string(raw) == "null" && kind != "any" {
		return nil, &json.UnmarshalTypeError{Value: "null"}
	}
	if err := in.Decode(target); err != nil {
		return nil, err
	}
	return json.Marshal(target)
}
