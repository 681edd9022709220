package inbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// mostUsed is how many used messages are remembered over a restart. The API has settled a
// message before it is used; it gives none of those again.
const mostUsed = 1000

// compact writes the file anew with what still counts, if that is less than what stands there.
func (u *usedIDs) compact() error {
	notes := u.notes()
	if len(notes) >= u.lines {
		return nil
	}
	var text bytes.Buffer
	for _, note := range notes {
		line, err := noteOf(note)
		if err != nil {
			return err
		}
		text.Write(line)
	}
	if err := u.replace(text.Bytes()); err != nil {
		return fmt.Errorf("compact used messages: %w", err)
	}
	u.lines = len(notes)
	return nil
}

// notes are the lines that say what is known.
func (u *usedIDs) notes() []any {
	notes := []any{entry{Taker: u.taker}}
	for _, id := range u.order[max(len(u.order)-mostUsed, 0):] {
		notes = append(notes, id)
	}
	for _, m := range u.open {
		notes = append(notes, entry{Claim: &m})
		if m.Repeated {
			notes = append(notes, entry{Won: m.ID})
		}
	}
	return notes
}

// replace puts the whole text in the file's place, or leaves the file as it is.
func (u *usedIDs) replace(text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(u.path), filepath.Base(u.path)+".*")
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := u.sync(f); err != nil {
		return err
	}
	return os.Rename(f.Name(), u.path)
}
