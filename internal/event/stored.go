package event

import (
	"encoding/json"
	"time"
)

// Event is a stored fact of a sandbox.
type Event struct {
	ID        string          `json:"id"` // <sandbox>:<sequence>
	SandboxID string          `json:"sandbox_id"`
	Attempt   int             `json:"attempt"`  // 0 for a sandbox that belongs to no task
	Sequence  int64           `json:"sequence"` // contiguous from 1 in each sandbox
	Type      string          `json:"event_type"`
	Source    string          `json:"source"`
	Data      json.RawMessage `json:"event_data"`
	Late      bool            `json:"late"` // it came after the attempt's end
	CreatedAt time.Time       `json:"created_at"`
	Omitted   []string        `json:"omitted,omitempty"` // large fields that Data lacks; *: all
}
