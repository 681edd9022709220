package postgres

import (
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/omoi-dev/omoi/internal/digest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Kinds of stored texts.
const (
	textError    = "error"
	textFeedback = "feedback"
)

// SaveText stores a text and returns its ID. taskID may be empty. NUL and invalid UTF-8, which PostgreSQL cannot store,
// are replaced.
func (s *Store) SaveText(ctx context.Context, taskID, kind, content string) (string, error) {
	id := task.NewID()
	err := saveText(ctx, s.q, db.InsertTextParams{ID: id, TaskID: orNull(taskID), Kind: kind, Content: content})
	return id, translate("store a text", err)
}

// SaveBase64 streams a base64 text of any length into a row by COPY. Base64 contains no characters that COPY would
// interpret.
func (s *Store) SaveBase64(ctx context.Context, taskID, kind string, content io.Reader) (string, error) {
	id, owner := task.NewID(), taskID
	if owner == "" {
		owner = `\N`
	}
	row := io.MultiReader(strings.NewReader(strings.Join([]string{id, owner, kind, ""}, "\t")), content, strings.NewReader("\n"))
	err := s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Conn().PgConn().CopyFrom(ctx, row, "COPY stored_texts (id, task_id, kind, content) FROM STDIN")
		return err
	})
	return id, translate("store a long text", err)
}

// Text returns a stored text; [task.CodeNotFound] if there is none.
func (s *Store) Text(ctx context.Context, id string) (string, error) {
	content, err := s.q.TextByID(ctx, id)
	return content, translate("read text "+id, err)
}

// SaveErrors stores the error texts that a digest names. A repeated call changes nothing.
func (s *Store) SaveErrors(ctx context.Context, taskID string, errs []digest.ErrorText) error {
	for _, e := range errs {
		err := saveText(ctx, s.q, db.InsertTextParams{ID: e.ID, TaskID: orNull(taskID), Kind: textError, Content: e.Content})
		if err != nil {
			return translate("store error texts", err)
		}
	}
	return nil
}

func saveText(ctx context.Context, q *db.Queries, text db.InsertTextParams) error {
	text.Content = storable(text.Content)
	return q.InsertText(ctx, text)
}

// storable returns text without characters that PostgreSQL cannot store.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// firstRunes returns at most n characters.
func firstRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// orNull returns a pointer to v, or nil for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
