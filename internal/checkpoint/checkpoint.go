// Package checkpoint describes checkpoints of attempts: what omoi-agent sends, what the server stores, and what the next
// attempt restores. A checkpoint is the files of the workspace at one event, with the position of the session in its
// transcript. Its Git objects travel in a pack.
package checkpoint

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Bounds of what the server accepts.
const (
	MaxChunk    = 4 << 20   // bytes of a pack in one request
	MaxPack     = 512 << 20 // bytes of a pack
	MaxSegment  = 200       // checkpoints from a keyframe to the next; omoi-agent sends 51
	MaxLeftOut  = 20        // sentences in LeftOut
	MaxSentence = 300       // bytes of a sentence in LeftOut, which is cut there
)

// ID names a checkpoint within its task.
type ID struct {
	Attempt int // from 1; 0: copied from the task of which this one is a fork
	Number  int // of the checkpoint in the attempt, from 1
}

// String returns "<attempt>.<number>", for example 2.14.
func (id ID) String() string { return strconv.Itoa(id.Attempt) + "." + strconv.Itoa(id.Number) }

// ParseID reads the form that [ID.String] returns, of numbers that the store can hold. The error is invalid.
func ParseID(text string) (ID, error) {
	attempt, number, ok := strings.Cut(text, ".")
	const bits = 32
	a, errA := strconv.ParseInt(attempt, 10, bits)
	n, errN := strconv.ParseInt(number, 10, bits)
	if id := (ID{int(a), int(n)}); ok && errA == nil && errN == nil && a >= 0 && n > 0 && id.String() == text {
		return id, nil
	}
	return ID{}, task.Invalid("checkpoint", "%q names no checkpoint: a checkpoint is <attempt>.<number>, for example 2.14", text)
}

// Sealed is what omoi-agent says of a checkpoint whose pack the server has: PUT .../checkpoints/{number}.
type Sealed struct {
	// Base is the number of the checkpoint whose objects the pack relies on, in the same attempt. 0: the pack is a keyframe,
	// which relies only on the commits of the task's branch.
	Base       int    `json:"base_number" minimum:"0" maximum:"2147483647" doc:"Number of the checkpoint of this attempt whose objects the pack needs. 0: the pack is a keyframe and needs the commits of the branch only."`
	PackBytes  int64  `json:"pack_bytes" minimum:"0" doc:"Size of the pack in bytes. 0: the checkpoint needs no new objects."`
	PackSHA256 string `json:"pack_sha256" pattern:"^[0-9a-f]{64}$" doc:"SHA-256 of the pack, in hexadecimal."`

	Commit   string `json:"commit" pattern:"^[0-9a-f]{40,64}$" doc:"Commit that holds the checkpoint: its tree has the entries work, index and state."`
	Head     string `json:"head_commit" pattern:"^([0-9a-f]{40,64})?$" doc:"Commit that was checked out. Empty: no commit, or no repository."`
	HeadRef  string `json:"head_ref" maxLength:"1000" doc:"Branch that was checked out, for example refs/heads/feature/APP-12-say-hello. Empty: a detached HEAD, or no repository."`
	Files    int    `json:"files" minimum:"0" maximum:"2147483647" doc:"Number of files that differ from head_commit."`
	Bytes    int64  `json:"bytes" minimum:"0" doc:"Size of these files, in bytes."`
	Index    bool   `json:"has_index" doc:"true: the state of the Git index is in the checkpoint."`
	GitState bool   `json:"has_git_state" doc:"true: a merge, rebase or similar operation was in progress, and its state files are in the checkpoint."`

	ToolCall    string `json:"tool_call_id" maxLength:"200" doc:"ID of the last tool call that had completed. Empty: none."`
	RunningCall string `json:"running_tool_call" maxLength:"200" doc:"Name of the tool call that was in progress, whose effects may be in the files. Empty: none."`
	RunID       string `json:"run_id" maxLength:"255" doc:"Run whose transcript belongs to the checkpoint. Empty: the agent keeps no transcript."`
	Transcript  int64  `json:"transcript_bytes" minimum:"0" doc:"Length of this transcript at the checkpoint, in bytes, with those that are no longer kept."`

	FilesOnly bool `json:"files_only" doc:"true: taken after the agent had ended, so that files may be newer than the position in the transcript."`

	Torn    bool      `json:"torn" doc:"true: files changed while the checkpoint was taken, so that they may be of different moments."`
	LeftOut []string  `json:"left_out" maxItems:"20" doc:"What the checkpoint lacks, one sentence each, for example a file above the size limit. The server cuts a sentence at 300 bytes."`
	TakenAt time.Time `json:"taken_at" doc:"When the checkpoint was taken, by the clock of the sandbox."`
}

// Checkpoint is a stored checkpoint.
type Checkpoint struct {
	ID        string    `json:"id" doc:"Name of the checkpoint in its task: <attempt>.<number>, for example 2.14."`
	Attempt   int       `json:"attempt" doc:"Number of the attempt that left the checkpoint, from 1. 0: copied from the task of which this one is a fork."`
	Number    int       `json:"number" doc:"Number of the checkpoint in the attempt, from 1."`
	SandboxID string    `json:"sandbox_id" doc:"Sandbox in which the agent ran. Empty: of attempt 0."`
	StoredAt  time.Time `json:"stored_at" doc:"When the server had the whole checkpoint."`
	Sequence  int64     `json:"sequence" doc:"Sequence of the event agent.checkpoint that the agent sent when it took the checkpoint. 0: there is no event, since the agent had ended, a user gave the checkpoint, or the event was dropped."`
	Sealed
}

// Received says how much of a pack the server has.
type Received struct {
	Stored   bool  `json:"stored" doc:"true: the chunk is stored. false: the chunk does not follow the stored bytes; continue at received."`
	Received int64 `json:"received" doc:"Bytes of the pack that the server has: the offset of the next chunk."`
}

// Upload names a checkpoint that is being sent.
type Upload struct {
	SandboxID string
	Number    int
	User      bool // a user sends the checkpoint of an ended attempt, also while a newer one exists
}

// Chunk is a part of a pack.
type Chunk struct {
	Upload

	Offset  int64
	Content []byte // at most [MaxChunk] bytes
}

// Commits are the commits that a checkpoint needs.
type Commits struct {
	Head   string // checked out; empty: none
	Branch string // of the task's branch when the attempt began; empty: unknown
	Given  bool   // a user gave the checkpoint: Branch is of the end of the attempt, and Head may follow newer commits
}

// Origin is what an attempt begins with.
type Origin struct {
	// Segments are chains, the newest first. The last checkpoint of the first one is restored, if it can be.
	Segments [][]Checkpoint
	// Rewound is the newest attempt, up to this one, that began with a checkpoint of a user's choice. What attempts before it
	// left counts only up to that checkpoint. 0: none.
	Rewound int
}

// Segments returns chains of checkpoints of one attempt, in order: each from a keyframe on, and each checkpoint behind its base. A
// chain ends with the newest checkpoint before the next keyframe. A checkpoint that no later one builds on is left out: its sender
// did not know that it was stored. So is a checkpoint whose chain has a gap.
func Segments(all []Checkpoint) (segments [][]Checkpoint) {
	for n := len(all) - 1; n >= 0; n-- {
		chain := ChainTo(all[n], all)
		if len(chain) == 0 {
			continue
		}
		segments = append(segments, chain)
		for n > 0 && all[n-1].Number >= chain[0].Number {
			n--
		}
	}
	slices.Reverse(segments)
	return segments
}

// ChainTo returns the checkpoints that c needs, from its keyframe on, and c; empty if one is missing. all are checkpoints of the attempt
// in any order.
func ChainTo(c Checkpoint, all []Checkpoint) []Checkpoint {
	at := map[int]Checkpoint{}
	for _, one := range all {
		at[one.Number] = one
	}
	chain := []Checkpoint{c}
	for c.Base != 0 {
		base, known := at[c.Base]
		if !known || base.Number >= c.Number {
			return nil
		}
		c, chain = base, append(chain, base)
	}
	slices.Reverse(chain)
	return chain
}
