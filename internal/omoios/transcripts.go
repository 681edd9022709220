package omoios

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/postgres/db"
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

// transcripts imports the sessions of Claude Code, one after the other: each may have megabytes.
func (r *run) transcripts(ctx context.Context) error {
	const table = "claude_session_transcripts"
	if r.missing(table) {
		return nil
	}
	k, err := r.kind(ctx, table, table)
	if err != nil {
		return err
	}
	query := "SELECT " + r.src.list(table, "s", "id text", "session_id text", "transcript_b64 text", "sandbox_id text", "session_metadata text",
		"created_at timestamptz", "updated_at timestamptz") + ", " + r.src.col("tasks", "t", "sandbox_id", "text") +
		" FROM claude_session_transcripts s" + r.src.join("tasks", "t", r.src.col(table, "s", "task_id", "text")) + " ORDER BY 6, 1"
	return read(ctx, r.src, table, query, func(t transcriptRow) error {
		var out outcome
		err := r.commit(ctx, table, func(tx pgx.Tx) (err error) {
			out, err = alone(ctx, tx, t, addTranscript)
			return err
		})
		if err == nil {
			k.count(t.rowID(), out)
		}
		return err
	})
}

func addTranscript(ctx context.Context, q *db.Queries, t transcriptRow) (outcome, error) {
	sandbox := cmp.Or(task.Deref(t.SandboxID), task.Deref(t.TaskSandbox))
	if badSandbox(sandbox) {
		return skip("It has no sandbox ID, or one that omoi does not allow"), nil
	}
	content, ok := decode(task.Deref(t.Content))
	if !ok {
		return skip("It is empty, or not a text in base64"), nil
	}
	session := sessionOf(task.Deref(t.SessionID), content)
	if found, err := q.ImportedTranscript(ctx, transcript.RunOfSession(sandbox, session)); found || err != nil {
		return outcome{existing: found}, err
	}
	return outcome{}, keep(ctx, q, sandbox, session, token.Hide(content), string(objectOf(t.Metadata)), first(t.UpdatedAt, t.CreatedAt))
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
