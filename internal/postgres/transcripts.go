package postgres

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// AppendTranscript appends a piece to the transcript of an agent's run. A piece that does not follow the stored ones
// changes nothing; the returned mark says where to continue. A stored piece that is sent again counts as stored.
// Errors: [task.CodeNotFound] for an unknown sandbox, [task.CodeConflict] for a run of another sandbox and above the limit of runs.
func (s *Store) AppendTranscript(ctx context.Context, p transcript.Piece) (transcript.Mark, error) {
	mark, err := txResult(ctx, s, func(q *db.Queries) (transcript.Mark, error) { return appendTranscript(ctx, q, p) })
	return mark, translate("store the transcript", err)
}

func appendTranscript(ctx context.Context, q *db.Queries, p transcript.Piece) (transcript.Mark, error) {
	taskID, err := q.TranscriptSandbox(ctx, p.SandboxID)
	if err != nil {
		return transcript.Mark{}, missing(translate("find the sandbox", err), "There is no sandbox %s.", p.SandboxID)
	}
	begins := p.Offset == 0 && p.Sum == 0
	if begins { // create the row of a new run, then lock it as for any other run
		begin := db.BeginTranscriptParams{RunKey: p.RunID, SessionID: p.SessionID, TaskID: taskID, SandboxID: p.SandboxID, Most: transcript.MaxRuns}
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

// settlePiece compares the piece with the locked row.
func settlePiece(ctx context.Context, q *db.Queries, p transcript.Piece, row db.LockTranscriptRow) (transcript.Mark, error) {
	if p.Replace {
		row = db.LockTranscriptRow{SandboxID: row.SandboxID}
	}
	has := transcript.Mark{Received: row.Received, Sum: row.Sum, CutBytes: row.Cut}
	sum := int64(transcript.Sum(uint32(p.Sum), p.Content)) //nolint:gosec // G115: the API takes no more
	then := transcript.Mark{Stored: true, Received: p.Offset + int64(len(p.Content)), Sum: sum, CutBytes: row.Cut}
	switch {
	case !p.Replace && has.Received == then.Received && has.Sum == then.Sum:
		return then, nil // duplicate: the response was lost
	case has.Received != p.Offset || has.Sum != p.Sum:
		return has, nil
	}
	p.Content = token.Cover(p.Content) // after the comparison, which uses the original bytes; checkpoints name positions
	if !p.Replace && row.Kept+int64(len(p.Content)) <= p.Limit {
		return then, q.AppendTranscript(ctx, db.AppendTranscriptParams{
			RunKey: p.RunID, SessionID: p.SessionID, Piece: p.Content, Received: then.Received, Sum: then.Sum,
		})
	}
	return rewrite(ctx, q, p, then)
}

// rewrite stores the whole transcript, cut if it exceeds the limit.
func rewrite(ctx context.Context, q *db.Queries, p transcript.Piece, then transcript.Mark) (transcript.Mark, error) {
	content := p.Content
	if !p.Replace {
		stored, err := q.TranscriptContent(ctx, p.RunID)
		if err != nil {
			return then, err
		}
		content = append(stored, content...)
	}
	kept := transcript.Newest(content, p.Limit)
	then.CutBytes += int64(len(content) - len(kept))
	return then, q.ReplaceTranscript(ctx, db.ReplaceTranscriptParams{
		RunKey: p.RunID, SessionID: p.SessionID, Content: kept, Cut: then.CutBytes, Received: then.Received, Sum: then.Sum,
	})
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

// TaskTranscript returns the stored transcript of a run; [task.CodeGone] if retention removed it.
func (s *Store) TaskTranscript(ctx context.Context, organizationID, taskID, runID string) ([]byte, error) {
	row, err := s.q.TaskTranscript(ctx, db.TaskTranscriptParams{TaskID: &taskID, OrganizationID: organizationID, RunKey: runID})
	if err == nil && row.RemovedAt != nil {
		err = retention.Removed(retention.Transcripts, "task "+taskID, *row.RemovedAt)
	}
	return row.Content, missing(translate("read the transcript", err), "Task %s has no transcript %s.", taskID, runID)
}

// SandboxTranscript returns a transcript to a sandbox: of its own runs and of other attempts of its task.
func (s *Store) SandboxTranscript(ctx context.Context, sandboxID, runID string) ([]byte, error) {
	row, err := s.q.SandboxTranscript(ctx, sandboxID, runID)
	if err == nil && row.RemovedAt != nil {
		err = retention.Removed(retention.Transcripts, "run "+runID, *row.RemovedAt)
	}
	return row.Content, missing(translate("read the transcript", err), "Sandbox %s has no transcript %s.", sandboxID, runID)
}

// RunTranscript returns the transcript of a run of a task; false if none is kept.
func (s *Store) RunTranscript(ctx context.Context, taskID, runID string) (transcript.Info, bool, error) {
	row, found, err := maybe(s.q.RunTranscript(ctx, &taskID, runID))
	return transcriptInfo(db.TaskTranscriptsRow(row)), found, translate("read a transcript", err)
}

// EarlierTranscript returns the newest transcript of the attempts before a number; false if there is none.
func (s *Store) EarlierTranscript(ctx context.Context, taskID string, attempt int) (transcript.Info, bool, error) {
	row, found, err := maybe(s.q.EarlierTranscript(ctx, &taskID, &attempt))
	return transcriptInfo(db.TaskTranscriptsRow(row)), found, translate("read an earlier transcript", err)
}
