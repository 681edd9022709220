package render

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes v as indented JSON.
func JSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// JSONLine writes v as JSON on one line.
func JSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
