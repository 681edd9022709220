package ingest

import (
	"context"
	"time"
)

// Committer stores what many callers sent in one transaction.
type Committer interface {
	// CommitEvents returns one outcome for each request, in their order. An error is about
	// the whole transaction, of which nothing was stored, or nothing is known; it carries
	// [ErrData] if the data of one request caused it.
	CommitEvents(ctx context.Context, c Commit) ([]Outcome, error)
}

// Commit is what one transaction is to store.
type Commit struct {
	Requests []Request
	// Quiet is how long events that are no milestones may wait for the relay.
	Quiet time.Duration
	// MaxTranscript is how much is kept of a transcript that came in an event, in bytes.
	MaxTranscript int64
}

// Request is what one caller wants to be stored, whole or not at all.
type Request struct {
	SandboxID string
	Events    []Event // checked
	SpoolID   string  // of a numbered batch; empty for a single post
	First     int64   // number of the first event of a batch
	Key       string  // of a single post; empty means that repeats are not noticed
	Bare      bool    // make a bare row for an unknown sandbox
}

// Outcome is what became of a [Request].
type Outcome struct {
	Err        error     // the request was refused; nothing else is set
	Sequence   int64     // of the newest event of the request
	CreatedAt  time.Time // likewise
	Stored     int       // new events
	Duplicates int
	Mark       int64 // of the batch's sender
	Late       bool
	Milestone  bool // a milestone is to be relayed
	TaskID     string
}
