package task

import (
	"hash/crc32"
	"time"
)

// MaxTranscriptPiece is the most that an agent may send of a transcript at once, in bytes.
const MaxTranscriptPiece = 4 << 20

// MaxTranscripts is how many runs of one sandbox have their transcripts kept.
const MaxTranscripts = 100

// TranscriptInfo describes the transcript of one run of an agent.
type TranscriptInfo struct {
	RunID     string    `json:"run_id"`
	SessionID string    `json:"session_id"` // under which the agent's program goes on
	SandboxID string    `json:"sandbox_id"`
	Attempt   int       `json:"attempt"`
	Bytes     int64     `json:"bytes"`     // that are kept
	CutBytes  int64     `json:"cut_bytes"` // the oldest ones, which are not
	UpdatedAt time.Time `json:"updated_at"`
	// RemovedAt is when retention removed it; nil: it is kept.
	RemovedAt *time.Time `json:"removed_at,omitempty"`
}

// TranscriptPiece is whole lines of a transcript that follow the Offset bytes sent before.
type TranscriptPiece struct {
	SandboxID string
	RunID     string
	SessionID string
	Offset    int64
	Sum       int64 // CRC-32C of the bytes before
	Replace   bool  // forget what came before; Offset and Sum are 0
	Content   []byte
	Limit     int64 // most bytes that are kept
}

// TranscriptMark says how far a stored transcript has come.
type TranscriptMark struct {
	Stored   bool  `json:"stored"`    // false: the piece does not follow what is stored; go on at received
	Received int64 `json:"received"`  // bytes, those that were cut off too
	Sum      int64 `json:"sum"`       // CRC-32C of them
	CutBytes int64 `json:"cut_bytes"` // the oldest ones, which are no longer kept
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant table

// TranscriptSum is the CRC-32C of what has the sum given and of what comes behind it; 0 is the
// sum of nothing.
func TranscriptSum(sum uint32, more []byte) uint32 { return crc32.Update(sum, castagnoli, more) }
