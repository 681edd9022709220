package credential

import (
	"context"
	"fmt"
	"slices"
)

// Rotation is the result of [Service.Rotate].
type Rotation struct {
	KeyID         string   `json:"key_id" doc:"ID of the server's first key, which now encrypts all that could be decrypted."`
	Rotated       int      `json:"rotated" doc:"Number of credentials that were re-encrypted."`
	Envs          int      `json:"task_envs" doc:"Number of tasks whose execution_config.env was encrypted or re-encrypted."`
	Notices       int      `json:"notice_rules" doc:"Number of notice rules whose address was re-encrypted."`
	Undecryptable int      `json:"undecryptable" doc:"Number of credentials, task envs and notice rules that could not be decrypted and stay as they are."`
	MissingKeyIDs []string `json:"missing_key_ids" nullable:"false" doc:"IDs of the missing keys, which would decrypt the undecryptable credentials. Empty: none is missing."`
}

// Rotate encrypts all credentials of the installation, the env of all tasks and the addresses of all notice rules with the first key. Undecryptable ones
// stay unchanged and are counted. A credential set during the rotation already has the first key.
func (s *Service) Rotate(ctx context.Context) (Rotation, error) {
	done := Rotation{KeyID: s.ring.First(), MissingKeyIDs: []string{}}
	err := s.each(ctx, done.KeyID, func(row Row) error { return s.reseal(ctx, row, &done) })
	if err != nil {
		return done, fmt.Errorf("rotate credentials: %w", err)
	}
	envs := func(after string) ([]TaskEnv, error) { return s.store.TaskEnvs(ctx, after, pageRows) }
	err = pages(envs, func(e TaskEnv) (string, error) { return e.TaskID, s.rotateEnv(ctx, e, &done) })
	if err != nil {
		return done, err
	}
	notices := func(after string) ([]NoticeAddress, error) { return s.store.NoticeAddresses(ctx, after, pageRows) }
	return done, pages(notices, func(a NoticeAddress) (string, error) { return a.RuleID, s.rotateNotice(ctx, a, &done) })
}

// each calls do with every credential of the installation that a key other than butKeyID encrypts.
func (s *Service) each(ctx context.Context, butKeyID string, do func(Row) error) error {
	rows := func(after string) ([]Row, error) { return s.store.CredentialsUnder(ctx, butKeyID, after, pageRows) }
	return pages(rows, func(row Row) (string, error) { return row.ID, do(row) })
}

const pageRows = 100

// pages reads rows in the order of their IDs, a page at a time. do returns the ID of a row.
func pages[T any](read func(after string) ([]T, error), do func(T) (id string, err error)) error {
	for after := ""; ; {
		rows, err := read(after)
		for n := 0; err == nil && n < len(rows); n++ {
			after, err = do(rows[n])
		}
		if err != nil || len(rows) < pageRows {
			return err
		}
	}
}

func with(ids []string, id string) []string {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

func (s *Service) reseal(ctx context.Context, row Row, done *Rotation) error {
	v, err := s.ring.open(row)
	if err != nil {
		done.Undecryptable++
		done.MissingKeyIDs = with(done.MissingKeyIDs, row.KeyID)
		return nil //nolint:nilerr // an undecryptable credential does not stop the rotation
	}
	changed, err := s.store.ResealCredential(ctx, row, s.ring.first, s.ring.seal(row.Place, v))
	if changed {
		done.Rotated++
	}
	return err
}

// Health counts the stored credentials and those that this process cannot decrypt.
type Health struct {
	KeyID      string // ID of the key that encrypts
	Stored     int
	Unreadable int
	Keys       []string // IDs of the keys of the unreadable credentials
}

// Health decrypts every credential of the installation and counts those that fail.
func (s *Service) Health(ctx context.Context) (Health, error) {
	found := Health{KeyID: s.ring.First()}
	err := s.each(ctx, "", func(row Row) error {
		found.Stored++
		if _, err := s.ring.open(row); err != nil {
			found.Unreadable++
			found.Keys = with(found.Keys, row.KeyID)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("check credentials: %w", err)
	}
	return found, err
}
