package ingest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// Sources that an event may name.
const (
	SourceAgent  = "agent"
	SourceWorker = "worker"
	SourceSystem = "system"
)

// Event is what a sandbox reports.
type Event struct {
	Type   string          // 1..100 characters, usually category.action
	Source string          // agent, worker or system; empty means agent
	Data   json.RawMessage // well-formed JSON: an object, \u0000 and half surrogates become \ufffd; empty or null means {}
	// ClientEventID makes a repeat of a single post harmless; at most 200 characters.
	// Batches ignore it, since they are numbered.
	ClientEventID string
	// TranscriptCut is how many bytes of the transcript in Data, its oldest, whoever took it in has left out.
	TranscriptCut int64
	// Large is set by the intake where a part of the data does not belong into the event's row.
	Large *Large
}

// Receipt is the answer to a single event, given after it is stored.
type Receipt struct {
	EventID   string // <sandbox>:<sequence>
	Sequence  int64  // contiguous from 1 in each sandbox
	Duplicate bool   // the key was known: this is the event of the first time
	Late      bool   // the attempt had ended; the event is stored and has no effect
	CreatedAt time.Time
	TaskID    string // of the sandbox; empty for one that we did not make
}

// BatchReceipt is the answer to a numbered batch, given after it is stored.
type BatchReceipt struct {
	Acknowledged int64 // the sender's numbers 1..Acknowledged are stored
	Duplicates   int   // how many of this batch were stored already
}

// StoredEvent is an event as readers get it.
type StoredEvent = event.Event

// MaxPage is how many bytes of data the events of one page have together; one that is
// longer than that is a page of its own.
const MaxPage = 8 << 20

// EventQuery asks for a page of one sandbox's events, newest first.
type EventQuery struct {
	SandboxID string
	Type      string // exact; empty means all
	Limit     int    // 0 means 100
	Offset    int
	Before    int64 // only events before this number; 0 means all
}

// EventPage is the answer to an [EventQuery]. An unknown sandbox has an empty page.
type EventPage struct {
	Events []StoredEvent
	Total  int64 // of the filter, before paging
	More   bool  // older ones than these
}

// EventID is the wire's id of an event.
func EventID(sandboxID string, sequence int64) string {
	return sandboxID + ":" + strconv.FormatInt(sequence, 10)
}

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
