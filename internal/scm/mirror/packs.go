package mirror

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // G505: git's own sum
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sound reports whether the packs are whole, byte for byte, and have their indexes: git itself trusts what it finds. What a killed git
// left unfinished is removed.
func (p place) sound(ctx context.Context) bool {
	if p.tidy() != nil {
		return false
	}
	files, _ := filepath.Glob(filepath.Join(p.packs(), "*"))
	packs := 0
	for _, file := range files {
		pack, isIndex := strings.CutSuffix(file, ".idx")
		base, isPack := strings.CutSuffix(file, ".pack")
		if isPack {
			packs++
		}
		if isIndex && !exists(pack+".pack") || isPack && !exists(base+".idx") || ctx.Err() != nil || !whole(file) {
			return false
		}
	}
	return packs > 0
}

// tidy removes locks and beginnings of files. Only who holds the lock of the mirror may.
func (p place) tidy() error {
	err := filepath.WalkDir(p.git(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), "tmp_") && !strings.HasSuffix(entry.Name(), ".lock") {
			return err
		}
		return os.Remove(path) //nolint:gosec // G122: nobody else enters the folder
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// whole reports whether a file ends with the checksum of its content, as git writes packs and what belongs to them.
func whole(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil || info.Size() < sha1.Size {
		return false
	}
	sum := sha1.New() //nolint:gosec // G401: see above
	if _, err := io.CopyN(sum, f, info.Size()-sha1.Size); err != nil {
		return false
	}
	end, err := io.ReadAll(f)
	return err == nil && bytes.Equal(end, sum.Sum(nil))
}
