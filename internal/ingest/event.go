package ingest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// Sources of an event.
const (
	SourceAgent  = "agent"
	SourceWorker = "worker"
	SourceSystem = "system"
)

// Event is an event that a sandbox reports.
type Event struct {
	Type   string          // 1..100 characters, usually category.action
	Source string          // agent, worker or system; empty means agent
	Data   json.RawMessage // well-formed JSON: an object, \u0000 and half surrogates become \ufffd; empty or null means {}
	// ClientEventID deduplicates repeats of a single post; at most 200 characters. Batches ignore it, since they are
	// numbered.
	ClientEventID string
	// TranscriptCut is the number of bytes that were cut off at the beginning of the transcript in Data.
	TranscriptCut int64
	// Large is set by Intake if a part of the data is stored outside of the event's row.
	Large *Large
}

// Receipt is the response to a single event after its commit.
type Receipt struct {
	EventID   string // <sandbox>:<sequence>
	Sequence  int64  // 1, 2, 3, ... in each sandbox, without gaps
	Duplicate bool   // the key is known, and the receipt is that of the first event
	Late      bool   // the attempt had ended; the event is stored and has no effect
	CreatedAt time.Time
	TaskID    string // of the sandbox; empty: unmanaged
}

// BatchReceipt is the response to a numbered batch after its commit.
type BatchReceipt struct {
	Acknowledged int64 // the sender's sequences 1..Acknowledged are stored
	Duplicates   int   // events of this batch that were already stored
}

// StoredEvent is an event as readers get it.
type StoredEvent = event.Event

// MaxPage is the maximum number of data bytes in a page of events. A longer event is a page of its own.
const MaxPage = 8 << 20

// EventQuery requests a page of one sandbox's events, newest first.
type EventQuery struct {
	SandboxID string
	Type      string // exact; empty means all
	Limit     int    // 0 means 100
	Offset    int
	Before    int64 // only events with a lower sequence; 0 means all
}

// EventPage is the result of an [EventQuery]. The page of an unknown sandbox is empty.
type EventPage struct {
	Events []StoredEvent
	Total  int64 // of the filter, before paging
	More   bool  // older events exist
}

// EventID returns the ID of an event in the API.
func EventID(sandboxID string, sequence int64) string {
	return sandboxID + ":" + strconv.FormatInt(sequence, 10)
}

// TrajectoryQuery requests a page of a sandbox's events without heartbeats.
type TrajectoryQuery struct {
	SandboxID string
	Cursor    int64 // a sequence; 0: from the end, or from the beginning if Newer
	Newer     bool  // the events after the cursor instead of those before it
	Limit     int   // must be positive
}

// Trajectory is the result of a [TrajectoryQuery], newest first.
type Trajectory struct {
	Events     []StoredEvent
	More       bool // in the direction of the query
	Total      int64
	Heartbeats Heartbeats
}

// Heartbeats summarizes all heartbeats of a sandbox. The times are nil if there are none.
type Heartbeats struct {
	Count int64
	First *time.Time
	Last  *time.Time
}

// ParseEventID returns the sequence in an event ID of a sandbox. It also accepts a bare sequence.
func ParseEventID(sandboxID, id string) (sequence int64, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(id, sandboxID+":"), 10, 63)
	return int64(n), err == nil
}

// OutlineEvent is an event without its content.
type OutlineEvent struct {
	Sequence  int64
	EventType string
	CreatedAt time.Time
	Bytes     int    // stored size of the data
	Tool      string // empty: none
	CallID    string // ID of the tool call; empty: none
	Failed    bool   // a failed tool call, or an error of the agent
}

// EventSearch asks for events that contain a text.
type EventSearch struct {
	SandboxID    string
	Text         string
	Types        []string // none: all
	After, Until int64    // sequences
	Limit        int
}
