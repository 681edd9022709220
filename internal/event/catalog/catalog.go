// Package catalog describes the fields of each event type, and the effect of the event on a task.
package catalog

import (
	_ "embed" // the descriptions
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

//go:embed catalog.json
var text []byte

// Event is the description of an event type.
type Event struct {
	Summary string           `json:"summary"`
	Effect  string           `json:"effect"` // effect on the task; empty: none
	Uses    []string         `json:"uses"`   // groups of fields
	Fields  map[string]Field `json:"fields"` // including the fields of the groups
}

// Field is the description of a field. All fields are optional.
type Field struct {
	Type     string `json:"type"` // of JSON schema, or any
	Nullable bool   `json:"nullable"`
	Doc      string `json:"doc"`
}

// UnmarshalText reads "string|null: What it is".
func (f *Field) UnmarshalText(text []byte) error {
	kind, doc, ok := strings.Cut(string(text), ": ")
	if !ok {
		return fmt.Errorf("missing type before %q", text)
	}
	f.Type, f.Nullable = strings.CutSuffix(kind, "|null")
	f.Doc = doc
	return nil
}

// Events returns the descriptions by event type.
func Events() map[string]Event {
	var all struct {
		Groups map[string]map[string]Field `json:"groups"`
		Events map[string]Event            `json:"events"`
	}
	_ = json.Unmarshal(text, &all) // the tests read the file too
	for name, e := range all.Events {
		own := e.Fields
		e.Fields = maps.Clone(all.Groups["common"])
		for _, group := range e.Uses {
			maps.Copy(e.Fields, all.Groups[group])
		}
		maps.Copy(e.Fields, own)
		all.Events[name] = e
	}
	return all.Events
}
