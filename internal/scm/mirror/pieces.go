package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// piece is a file of packs.
type piece struct {
	size int64
	sum  string
}

// sound reports whether the packs are those that were noted, byte for byte: git itself trusts what it finds. What a killed git left
// unfinished is removed.
func (p place) sound(ctx context.Context) bool {
	noted, err := p.noted()
	if err != nil || len(noted) == 0 || p.tidy() != nil {
		return false
	}
	there, err := p.there()
	if err != nil || len(there) != len(noted) {
		return false
	}
	for name, size := range there {
		if ctx.Err() != nil || noted[name].size != size {
			return false
		}
		if sum, err := sumOf(filepath.Join(p.packs(), name)); err != nil || sum != noted[name].sum {
			return false
		}
	}
	return true
}

// tidy removes locks and beginnings of files. Only who holds the lock of the mirror may.
func (p place) tidy() error {
	return filepath.WalkDir(p.git(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), "tmp_") && !strings.HasSuffix(entry.Name(), ".lock") {
			return err
		}
		return os.Remove(path) //nolint:gosec // G122: nobody else enters the folder
	})
}

// there lists the files of packs and their sizes.
func (p place) there() (map[string]int64, error) {
	entries, err := os.ReadDir(p.packs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the packs of a mirror: %w", err)
	}
	all := make(map[string]int64, len(entries))
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("look at a pack: %w", err)
		}
		all[entry.Name()] = info.Size()
	}
	return all, nil
}

// noted reads what was noted.
func (p place) noted() (map[string]piece, error) {
	raw, err := os.ReadFile(p.pieces())
	if err != nil {
		return nil, fmt.Errorf("read what the mirror weighs: %w", err)
	}
	all := map[string]piece{}
	for line := range strings.Lines(string(raw)) {
		var one piece
		var name string
		if _, err := fmt.Sscanf(line, "%s %d %s\n", &one.sum, &one.size, &name); err != nil {
			return nil, fmt.Errorf("read what the mirror weighs: %w", err)
		}
		all[name] = one
	}
	return all, nil
}

// note writes down the packs that are there now, and that they are used.
func (p place) note() error {
	there, err := p.there()
	if err != nil {
		return err
	}
	before, _ := p.noted() // of a new mirror there is none
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(there)) {
		one := before[name]
		if one.sum == "" || one.size != there[name] {
			if one.sum, err = sumOf(filepath.Join(p.packs(), name)); err != nil {
				return err
			}
		}
		fmt.Fprintf(&text, "%s %d %s\n", one.sum, there[name], name)
	}
	return p.write(text.String())
}

// write replaces the note in one step.
func (p place) write(text string) error {
	half := p.pieces() + ".new"
	err := os.WriteFile(half, []byte(text), 0o600)
	if err == nil {
		err = os.Rename(half, p.pieces())
	}
	if err != nil {
		return fmt.Errorf("note what the mirror weighs: %w", err)
	}
	return nil
}

// used is when the mirror was last acquired; the beginning of time if nobody knows.
func (p place) used() time.Time {
	info, err := os.Stat(p.pieces())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open a pack: %w", err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read a pack: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
