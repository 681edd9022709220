package render

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes v for programs, indented.
func JSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// JSONLine writes v for programs that read a stream: one line a value.
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
