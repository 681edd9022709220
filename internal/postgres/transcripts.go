package postgres

import (
	"bytes"
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// AppendTranscript adds a piece to the transcript of an agent's run. A piece that does not
// follow what is stored changes nothing and is told so by the mark; one that is stored
// already is stored. Errors: [task.CodeNotFound] for an unknown sandbox, [task.CodeGone] an
// hour after it is verified gone, [task.CodeConflict] for the run of another sandbox and for a
// run too many.
func (s *Store) AppendTranscript(ctx context.Context, p transcript.Piece) (transcript.Mark, error) {
	mark, err := txResult(ctx, s, func(q *db.Queries) (transcript.Mark, error) { return appendTranscript(ctx, q, p) })
	return mark, translate("store the transcript", err)
}

func appendTranscript(ctx context.Context, q *db.Queries, p transcript.Piece) (transcript.Mark, error) {
	box, err := q.TranscriptSandbox(ctx, p.SandboxID)
	switch {
	case err != nil:
		return transcript.Mark{}, missing(translate("find the sandbox", err), "There is no sandbox %s.", p.SandboxID)
	case box.Over:
		return transcript.Mark{}, task.Errorf(task.CodeGone, "Sandbox %s is deleted.", p.SandboxID).WithKind(task.KindSandboxDeleted)
	}
	begins := p.Offset == 0 && p.Sum == 0
	if begins { // a run that nobody knows begins; its row is locked like any other
		begin := db.BeginTranscriptParams{RunKey: p.RunID, SessionID: p.SessionID, TaskID: box.TaskID, SandboxID: p.SandboxID, Most: transcript.MaxRuns}
		if err := q.BeginTranscript(ctx, begin); err != nil {
			return transcript.Mark{}, err
		}
	}
	row, found, err := maybe(q.LockTranscript(ctx, p.RunID))
	switch {
	case err == nil && !found && begins:
		return transcript.Mark{}, task.Errorf(task.CodeConflict, "Sandbox %s reached the limit of %d transcripts.", p.SandboxID, transcript.MaxRuns)
	case !found:
		return transcript.Mark{}, err
	case row.SandboxID != p.SandboxID:
		return transcript.Mark{}, task.Errorf(task.CodeConflict, "Run %s does not belong to sandbox %s.", p.RunID, p.SandboxID)
	}
	return settlePiece(ctx, q, p, row)
}

// settlePiece compares the piece with what is stored, whose row is locked.
func settlePiece(ctx context.Context, q *db.Queries, p transcript.Piece, row db.LockTranscriptRow) (transcript.Mark, error) {
	if p.Replace {
		row = db.LockTranscriptRow{SandboxID: row.SandboxID}
	}
	has := transcript.Mark{Received: row.Received, Sum: row.Sum, CutBytes: row.Cut}
	sum := int64(transcript.Sum(uint32(p.Sum), p.Content)) //nolint:gosec // G115: the API takes no more
	then := transcript.Mark{Stored: true, Received: p.Offset + int64(len(p.Content)), Sum: sum, CutBytes: row.Cut}
	switch {
	case !p.Replace && has.Received == then.Received && has.Sum == then.Sum:
		return then, nil // its answer was lost
	case has.Received != p.Offset || has.Sum != p.Sum:
		return has, nil
	}
	p.Content = token.Hide(p.Content) // by now what came is counted
	if !p.Replace && row.Kept+int64(len(p.Content)) <= p.Limit {
		return then, q.AppendTranscript(ctx, db.AppendTranscriptParams{
			RunKey: p.RunID, SessionID: p.SessionID, Piece: p.Content, Received: then.Received, Sum: then.Sum,
		})
	}
	return rewrite(ctx, q, p, then)
}

// rewrite stores a transcript as a whole, cut if it has grown too long.
func rewrite(ctx context.Context, q *db.Queries, p transcript.Piece, then transcript.Mark) (transcript.Mark, error) {
	content := p.Content
	if !p.Replace {
		stored, err := q.TranscriptContent(ctx, p.RunID)
		if err != nil {
			return then, err
		}
		content = append(stored, content...)
	}
	kept := newest(content, p.Limit)
	then.CutBytes += int64(len(content) - len(kept))
	return then, q.ReplaceTranscript(ctx, db.ReplaceTranscriptParams{
		RunKey: p.RunID, SessionID: p.SessionID, Content: kept, Cut: then.CutBytes, Received: then.Received, Sum: then.Sum,
	})
}

// newest keeps the last whole lines of a text that is too long. It leaves room, so that not
// every piece has to move the whole text.
func newest(content []byte, limit int64) []byte {
	if int64(len(content)) <= limit {
		return content
	}
	from := int64(len(content)) - limit*3/4
	line := bytes.IndexByte(content[from-1:], '\n')
	if line < 0 {
		return []byte{} // one line that is longer than all that may be kept
	}
	return content[from+int64(line):]
}

// TaskTranscripts lists the transcripts of a task's attempts, oldest attempt first.
func (s *Store) TaskTranscripts(ctx context.Context, organizationID, taskID string) ([]transcript.Info, error) {
	rows, err := s.q.TaskTranscripts(ctx, &taskID, organizationID)
	return mapAll(rows, transcriptInfo), translate("list the transcripts", err)
}

func transcriptInfo(r db.TaskTranscriptsRow) transcript.Info {
	return transcript.Info{
		RunID: r.RunKey, SessionID: cmp.Or(r.SessionID, r.RunKey), SandboxID: r.SandboxID, Attempt: r.Attempt,
		Bytes: r.Bytes, CutBytes: r.Cut, UpdatedAt: r.UpdatedAt.UTC(), RemovedAt: r.RemovedAt,
	}
}

// TaskTranscript answers what is kept of one run's transcript; [task.CodeGone] if retention removed it.
func (s *Store) TaskTranscript(ctx context.Context, organizationID, taskID, runID string) ([]byte, error) {
	row, err := s.q.TaskTranscript(ctx, db.TaskTranscriptParams{TaskID: &taskID, OrganizationID: organizationID, RunKey: runID})
	if err == nil && row.RemovedAt != nil {
		err = retention.Removed(retention.Transcripts, "task "+taskID, *row.RemovedAt)
	}
	return row.Content, missing(translate("read the transcript", err), "Task %s has no transcript %s.", taskID, runID)
}

// SandboxTranscript is TaskTranscript as a sandbox may ask: for its own runs and for those of
// the other attempts of its task.
func (s *Store) SandboxTranscript(ctx context.Context, sandboxID, runID string) ([]byte, error) {
	row, err := s.q.SandboxTranscript(ctx, sandboxID, runID)
	if err == nil && row.RemovedAt != nil {
		err = retention.Removed(retention.Transcripts, "run "+runID, *row.RemovedAt)
	}
	return row.Content, missing(translate("read the transcript", err), "Sandbox %s has no transcript %s.", sandboxID, runID)
}

// EarlierTranscript answers the newest transcript that an attempt before the given one has
// left; false if there is none.
func (s *Store) EarlierTranscript(ctx context.Context, taskID string, attempt int) (transcript.Info, bool, error) {
	row, found, err := maybe(s.q.EarlierTranscript(ctx, &taskID, &attempt))
	return transcriptInfo(db.TaskTranscriptsRow(row)), found, translate("look for an earlier transcript", err)
}
