package postgres

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/task"
)

// savedPiece is the number of characters that are read at a time. The number is divisible by 4, so that base64 can be
// decoded per piece.
const savedPiece = 4 << 20

// SavedWork lists the saved work of a task's attempts, first attempt first.
func (s *Store) SavedWork(ctx context.Context, organizationID, taskID string) ([]savedwork.SavedWork, error) {
	t, err := s.Task(ctx, organizationID, taskID)
	if err != nil {
		return nil, err
	}
	all := savedwork.Of(t)
	if err := s.dateRemoved(ctx, t, all); err != nil {
		return nil, translate("read the saved work of task "+taskID, err)
	}
	ids := []string{}
	for _, one := range all {
		if one.Kept() {
			ids = append(ids, one.Text)
		}
	}
	if len(ids) == 0 {
		return all, nil
	}
	texts, err := s.q.SavedTexts(ctx, &taskID, ids)
	for _, text := range texts {
		for n := range all {
			if all[n].Text == text.ID {
				nameKept(&all[n], text)
			}
		}
	}
	return all, translate("read the saved work of task "+taskID, err)
}

// dateRemoved sets when retention removed saved work.
func (s *Store) dateRemoved(ctx context.Context, t task.Task, all []savedwork.SavedWork) error {
	patches, err := s.q.TaskRemovals(ctx, retention.Patches, &t.ID)
	if err != nil {
		return err
	}
	refs, err := s.q.RemovedAt(ctx, t.ID, retention.Refs)
	for n, one := range all {
		for _, r := range patches {
			if one.Kept() && r.ID == one.SandboxID {
				all[n].RemovedAt = &r.RemovedAt
			}
		}
		for _, a := range t.Attempts {
			if one.Kind == savedwork.Rescue && a.Number == one.Attempt && len(refs) > 0 && a.EndedAt != nil && a.EndedAt.Before(refs[0]) {
				all[n].RemovedAt = &refs[0]
			}
		}
	}
	return err
}

// nameKept sets the kind of a stored text and its decoded size in bytes.
func nameKept(one *savedwork.SavedWork, text db.SavedTextsRow) {
	if text.Kind == savedwork.TextBundle {
		one.Kind = savedwork.Bundle
	}
	one.Bytes = text.Bytes
	if strings.HasSuffix(text.Kind, savedwork.TextBase64) {
		one.Bytes = int64(base64.StdEncoding.DecodedLen(int(text.Bytes)))
	}
}

// SavedPiece returns a piece of a patch or bundle by its number from 0; empty after the end. [task.CodeNotFound] if the
// task has no such text.
func (s *Store) SavedPiece(ctx context.Context, taskID, textID string, piece int) ([]byte, error) {
	first := piece*savedPiece + 1
	row, err := s.q.SavedPiece(ctx, db.SavedPieceParams{First: first, Most: savedPiece, TaskID: &taskID, ID: textID})
	if err != nil || !strings.HasSuffix(row.Kind, savedwork.TextBase64) {
		return []byte(row.Piece), missing(translate("read saved work of task "+taskID, err), "The saved work %s of task %s is not kept any more.", textID, taskID)
	}
	content, err := base64.StdEncoding.DecodeString(row.Piece)
	return content, translate("decode saved work of task "+taskID, err)
}
