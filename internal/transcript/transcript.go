// Package transcript describes the transcripts of agent runs: their pieces on the way to the server, and what is stored.
package transcript

import (
	"hash/crc32"
	"time"
)

// MaxPiece is the most that an agent may send of a transcript at once, in bytes.
const MaxPiece = 4 << 20

// MaxRuns is how many runs of one sandbox have their transcripts kept.
const MaxRuns = 100

// Beside ends the name under which the files beside the transcript of a run are kept: the name of the run comes before it. Such a
// text is not listed, and no session resumes from it.
const Beside = ".beside"

// Info describes the transcript of one run of an agent.
type Info struct {
	RunID     string     `json:"run_id" doc:"Name of the run of the agent, given by its sandbox; for GET .../transcripts/{run_id}."`
	SessionID string     `json:"session_id" doc:"Session under which the agent resumes."`
	SandboxID string     `json:"sandbox_id" doc:"Sandbox in which the agent ran. Empty: of attempt 0."`
	Attempt   int        `json:"attempt" doc:"Number of the attempt in the task. 0: copied from the task of which this one is a fork."`
	Bytes     int64      `json:"bytes" doc:"Size of the stored transcript, in bytes."`
	CutBytes  int64      `json:"cut_bytes" doc:"Bytes at the beginning that are not kept, since the transcript reached its limit."`
	UpdatedAt time.Time  `json:"updated_at" doc:"When the transcript last grew."`
	RemovedAt *time.Time `json:"removed_at,omitempty" doc:"When retention removed the transcript. Left out: still kept."`
}

// Piece is whole lines of a transcript that follow the Offset bytes sent before.
type Piece struct {
	SandboxID string
	RunID     string
	SessionID string
	Offset    int64
	Sum       int64 // CRC-32C of the bytes before
	Replace   bool  // forget what came before; Offset and Sum are 0
	Content   []byte
	Limit     int64 // most bytes that are kept
}

// Mark says how far a stored transcript has come.
type Mark struct {
	Stored   bool  `json:"stored" doc:"true: the piece is stored. false: it does not follow the stored transcript; continue at received."`
	Received int64 `json:"received" doc:"Bytes received so far, cut ones included: the offset of the next piece."`
	Sum      int64 `json:"sum" doc:"CRC-32C of the received bytes: the checksum parameter of the next piece."`
	CutBytes int64 `json:"cut_bytes" doc:"Number of the oldest bytes that are no longer kept, because the transcript exceeds its limit."`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant table

// Sum is the CRC-32C of what has the sum given and of what comes behind it; 0 is the
// sum of nothing.
func Sum(sum uint32, more []byte) uint32 { return crc32.Update(sum, castagnoli, more) }
