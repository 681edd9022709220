package mirror

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Refs is where the refs of a mirror lie side by side, and Head the one of them that always stays.
const (
	Refs = "refs/mirror/"
	Head = Refs + "HEAD"
)

// maxRefs is how many refs a mirror may have: each task has a branch of its own, which nobody asks for when it is over.
const maxRefs = 1000

// oldRefs are the files of those refs that did not change for the longest time, as soon as there are too many. Nothing packs the
// refs of a mirror: each is a file.
func (p place) oldRefs() (old []string) {
	entries, _ := os.ReadDir(filepath.Join(p.git(), filepath.FromSlash(Refs)))
	var refs []fs.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && entry.Name() != filepath.Base(Head) {
			refs = append(refs, info)
		}
	}
	if len(refs) <= maxRefs {
		return nil
	}
	slices.SortFunc(refs, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, ref := range refs[:len(refs)-maxRefs/2] {
		old = append(old, filepath.Join(p.git(), filepath.FromSlash(Refs), ref.Name()))
	}
	return old
}

func removeAll(files []string) error {
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}
