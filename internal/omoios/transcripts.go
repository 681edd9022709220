package omoios

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/transcript"
)

type transcriptRow struct {
	ID

	SessionID, Content, SandboxID, Metadata *string
	CreatedAt, UpdatedAt                    *time.Time
	TaskSandbox                             *string
}

// transcripts imports the sessions of Claude Code, one after the other: each may have megabytes. The newest is first, since omoi
// keeps one transcript of a session, and so many of a sandbox.
func (r *run) transcripts(ctx context.Context) error {
	const table = "claude_session_transcripts"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	query := "SELECT " + r.src.list(table, "s", "id text", "session_id text", "transcript_b64 text", "sandbox_id text", "session_metadata text",
		"created_at timestamptz", "updated_at timestamptz") + ", " + r.src.col("tasks", "t", "sandbox_id", "text") +
		" FROM claude_session_transcripts s" + r.src.join("tasks", "t", r.src.col(table, "s", "task_id", "text")) + " ORDER BY coalesce(" +
		r.src.col(table, "s", "updated_at", "timestamptz") + ", " + r.src.col(table, "s", "created_at", "timestamptz") + ") DESC NULLS LAST, 1"
	return read(ctx, r.src, table, query, func(t transcriptRow) error {
		var out outcome
		err := r.commit(ctx, table, func(tx pgx.Tx) (err error) {
			out, err = alone(ctx, tx, t, r.addTranscript)
			return err
		})
		if err == nil {
			k.count(t.rowID(), out)
		}
		return err
	})
}

func (r *run) addTranscript(ctx context.Context, q *db.Queries, t transcriptRow) (outcome, error) {
	sandbox := cmp.Or(task.Deref(t.SandboxID), task.Deref(t.TaskSandbox))
	if badSandbox(sandbox) {
		return skip("It has no sandbox ID, or one that omoi does not allow"), nil
	}
	content, ok := decode(task.Deref(t.Content))
	if !ok {
		return skip("It is empty, or not a text in base64"), nil
	}
	session := sessionOf(task.Deref(t.SessionID), content)
	key := transcript.RunOfSession(sandbox, session)
	if r.sessions[sandbox][key] {
		return skip("A newer transcript of its session is imported"), nil
	}
	row, err := q.ImportedSandbox(ctx, retention.Events, sandbox)
	switch {
	case err == nil && r.foreign(row):
		return skip(otherSandbox), nil
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return outcome{}, err
	}
	if found, err := q.ImportedTranscript(ctx, key); found || err != nil {
		r.sessionsOf(sandbox)[key] = true
		return outcome{existing: true}, err
	}
	var out outcome
	kept, err := r.keep(ctx, q, sandbox, session, token.Hide(content), string(out.object(t.Metadata)), first(t.UpdatedAt, t.CreatedAt))
	if !kept {
		return skip(tooMany), err
	}
	return out, err
}

// tooMany is the reason of a transcript that omoi does not keep.
const tooMany = "omoi keeps one transcript of a session, and the newest 100 of a sandbox"

// sessionsOf returns the sessions of a sandbox whose transcripts the source has.
func (r *run) sessionsOf(sandbox string) map[string]bool {
	if r.sessions[sandbox] == nil {
		r.sessions[sandbox] = map[string]bool{}
	}
	return r.sessions[sandbox]
}

// keep stores a transcript with the task of its sandbox, and reports whether omoi has the transcript of the session.
func (r *run) keep(ctx context.Context, q *db.Queries, sandbox, session string, content []byte, metadata string, at time.Time) (bool, error) { //nolint:revive // the parts of a transcript
	of, key := r.sessionsOf(sandbox), transcript.RunOfSession(sandbox, session)
	had := of[key]
	if !had && len(of) >= transcript.MaxRuns {
		return false, nil
	}
	of[key] = true
	taskID, err := q.TranscriptSandbox(ctx, sandbox)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	kept := transcript.Newest(content, ingest.MaxTranscript)
	stored, err := q.KeepTranscript(ctx, db.KeepTranscriptParams{
		RunKey: key, SessionID: session, TaskID: taskID, SandboxID: sandbox, Metadata: metadata,
		Content: kept, Cut: int64(len(content) - len(kept)), At: &at, Most: transcript.MaxRuns, Late: true,
	})
	return had || stored > 0, err
}

// decode returns the text of a transcript, and false if it is empty or not a text.
func decode(encoded string) ([]byte, bool) {
	content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	return content, err == nil && len(content) > 0 && utf8.Valid(content)
}

// sessionOf returns the ID under which Claude Code resumes a session. OmoiOS names a transcript that it read from an idle
// sandbox by the sandbox; the lines of the transcript have the ID.
func sessionOf(name string, content []byte) string {
	if !strings.HasPrefix(name, "idle-") {
		return name
	}
	for line := range bytes.Lines(content) {
		var l struct {
			Session string `json:"sessionId"` //nolint:tagliatelle // Claude Code writes it
		}
		if json.Unmarshal(line, &l) == nil && l.Session != "" {
			return l.Session
		}
	}
	return name
}
