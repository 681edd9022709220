package ingest

import (
	"strconv"
	"strings"
	"time"
)

// TrajectoryQuery asks for a page of a sandbox's events without heartbeats.
type TrajectoryQuery struct {
	SandboxID string
	Cursor    int64 // an event number; 0: from the end, or from the beginning if Newer
	Newer     bool  // the events next after the cursor, else those next before it
	Limit     int   // must be positive
}

// Trajectory is the answer to a [TrajectoryQuery], newest first.
type Trajectory struct {
	Events     []StoredEvent
	More       bool // in the direction of the query
	Total      int64
	Heartbeats Heartbeats
}

// Heartbeats sums up all heartbeats of a sandbox. The times are nil if there are none.
type Heartbeats struct {
	Count int64
	First *time.Time
	Last  *time.Time
}

// ParseEventID reads the number out of an event id of a sandbox; a bare number is one too.
func ParseEventID(sandboxID, id string) (sequence int64, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(id, sandboxID+":"), 10, 63)
	return int64(n), err == nil
}
