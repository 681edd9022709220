package ingest

import (
	"encoding/json"
	"time"
)

// BusEvent is what happened, under the names of the replaced system.
type BusEvent struct {
	EventType  string          `json:"event_type"`
	EntityType string          `json:"entity_type"`
	EntityID   string          `json:"entity_id"`
	Payload    json.RawMessage `json:"payload"`
}

// BusReader says whose events a reader of the bus may see, and from when on.
type BusReader struct {
	OrganizationID string
	Bare           bool // sandboxes that nobody made, too
	Since          time.Time
}

// BusPlace is a place in the bus.
type BusPlace struct{ Xid, ID int64 }
