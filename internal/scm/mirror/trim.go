package mirror

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// kept is a mirror as it is thrown out.
type kept struct {
	place

	size int64
	used time.Time
}

// Trim throws out mirrors that nobody uses until those in dir weigh at most so many bytes: first what is too large by itself, which would
// drive all others out, then what was not used for the longest time.
func Trim(dir string, most int64) {
	all, total := look(dir)
	slices.SortFunc(all, func(a, b kept) int {
		return cmp.Or(cmp.Compare(a.rank(most), b.rank(most)), a.used.Compare(b.used), cmp.Compare(a.root, b.root))
	})
	for _, one := range all {
		if total <= most {
			return
		}
		if one.evict() {
			total -= one.size
		}
	}
}

// rank is 0 for what is too large by itself.
func (k kept) rank(most int64) int {
	if k.size > most {
		return 0
	}
	return 1
}

// Weigh answers how many mirrors lie in dir, and how many bytes they have.
func Weigh(dir string) (mirrors int, bytes int64) {
	all, total := look(dir)
	return len(all), total
}

func look(dir string) (all []kept, total int64) {
	entries, _ := os.ReadDir(dir) // no folder, no mirrors
	for _, entry := range entries {
		one := kept{place: place{filepath.Join(dir, entry.Name())}}
		if one.size = weigh(one.git()); one.size > 0 {
			one.used = one.place.used()
			all, total = append(all, one), total+one.size
		}
	}
	return all, total
}

// weigh adds up the files below dir; those that go meanwhile weigh nothing.
func weigh(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // see above
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
