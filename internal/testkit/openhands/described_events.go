package openhands

import (
	"encoding/json"
	"fmt"
)

// events judges a page of events by their kinds.
func (d description) events(page []byte) error {
	var all struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(page, &all); err != nil {
		return err
	}
	for _, event := range all.Items {
		kind, _ := event["kind"].(string)
		schema := d.doc.Components.Schemas[kind]
		if schema == nil {
			return fmt.Errorf("no kind of events %q", kind)
		}
		if err := schema.Value.VisitJSON(event); err != nil {
			return fmt.Errorf("event %s: %w", kind, err)
		}
	}
	return nil
}
