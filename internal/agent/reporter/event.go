package reporter

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
)

// maxEventBytes is the maximum size of an encoded event. A larger one is shortened.
const maxEventBytes = 1 << 20

// wireEvent is an event in the format of the API.
type wireEvent struct {
	EventType  string         `json:"event_type"`
	Source     string         `json:"source"`
	OccurredAt time.Time      `json:"occurred_at"`
	EventData  map[string]any `json:"event_data"`
}

// encode returns an event in wire format, with the three IDs in its data and without secrets, because others may read
// the spool.
func (r *Reporter) encode(eventType string, data map[string]any) (json.RawMessage, error) {
	full := make(map[string]any, len(data)+3)
	maps.Copy(full, r.cfg.Secrets.Map(data))
	full["task_id"], full["agent_id"], full["sandbox_id"] = r.cfg.TaskID, r.cfg.AgentID, r.cfg.SandboxID
	whole := wireEvent{EventType: eventType, Source: event.SourceOf(eventType), OccurredAt: r.cfg.Now().UTC(), EventData: full}
	body, err := json.Marshal(whole)
	if len(body) > maxEventBytes {
		shorten(full, len(body))
		body, err = json.Marshal(whole)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", eventType, err)
	}
	return textcut.WithoutNUL(body), nil
}

// shorten removes or cuts large values in the data of an event of size bytes.
func shorten(data map[string]any, size int) {
	for key, value := range data {
		if text, ok := value.(string); ok && len(text) > 4096 {
			data[key] = textcut.First(text, 4096)
			continue
		}
		if b, err := json.Marshal(value); err != nil || len(b) > 4100 {
			delete(data, key)
		}
	}
	data["shortened_from_bytes"] = size
}
