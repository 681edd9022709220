package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeTree removes a folder and all that is in it, its file called last as the last. Nothing alive may still change it. No link is
// followed. Each folder is emptied at the top, whereto those within it are moved: a hostile tree may be far deeper than paths, stacks or
// descriptors reach, and its user may have taken every right from its folders.
func removeTree(path, last string) error {
	lifted, moved := filepath.Join(path, ".deep-"+rand.Text()), 0
	lift := func(folder string, entry os.DirEntry) error {
		at := filepath.Join(folder, entry.Name())
		if !entry.IsDir() {
			return os.Remove(at)
		}
		moved++
		return errors.Join(os.Chmod(at, 0o700), os.Rename(at, lifted+strconv.Itoa(moved))) //nolint:gosec // G302: a folder, which is about to go
	}
	for again := true; again; {
		again = false
		err := each(path, func(entry os.DirEntry) error {
			if entry.Name() == last {
				return nil
			}
			again = true
			at := filepath.Join(path, entry.Name())
			if !entry.IsDir() {
				return os.Remove(at)
			}
			if err := each(at, func(inner os.DirEntry) error { return lift(at, inner) }); err != nil {
				return err
			}
			if err := unix.Rmdir(at); !errors.Is(err, unix.ENOTEMPTY) {
				return err
			}
			return nil // the next round finds what this one passed over
		})
		if err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(path, last)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(path)
}

// each does something to each entry of a folder, of those that come and go meanwhile perhaps not to all.
func each(folder string, do func(os.DirEntry) error) error {
	_ = os.Chmod(folder, 0o700) //nolint:gosec // G302: ours again; where it fails, opening tells why
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // only read
	for {
		entries, err := dir.ReadDir(512)
		for _, entry := range entries {
			if err := do(entry); err != nil {
				return fmt.Errorf("remove %s: %w", entry.Name(), err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
