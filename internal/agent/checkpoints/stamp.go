package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is longer than a step of the clock from which file systems take their times.
const tick = 50 * time.Millisecond

// stamp returns a text that differs after each change of a file, except of one in the same tick, and the time of the last change; empty if
// there is no file.
func stamp(path string) (text string, changed time.Time) {
	var stat unix.Stat_t
	if unix.Lstat(path, &stat) != nil {
		return "", changed
	}
	text = fmt.Sprint(stat.Mtim.Nano(), stat.Ctim.Nano(), stat.Size, stat.Ino) // programs can set Mtim back, but not Ctim
	return text, time.Unix(stat.Ctim.Unix())
}

// maxStamped is the number of files and folders of refs from which git answers faster.
const maxStamped = 300

// errUntold reports that files of a repository do not tell of all changes.
var errUntold = errors.New("too many refs, or links to those of another repository")

// refsStamp returns a text that differs after each change of HEAD or a ref of the repository of a work tree. It is empty where that cannot
// be told cheaply: without a repository, with many refs, if another repository has the refs, or within a tick after a change.
func refsStamp(work string) string {
	folder := filepath.Join(work, ".git")
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() || exists(filepath.Join(folder, "commondir")) {
		return ""
	}
	r := stamps{left: maxStamped}
	for _, name := range []string{"HEAD", "config", "packed-refs", "reftable/tables.list"} {
		path := filepath.Join(folder, name)
		info, err := os.Lstat(path)
		r.add(path, err == nil && info.Mode().Type() == fs.ModeSymlink)
	}
	err := filepath.WalkDir(filepath.Join(folder, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if r.add(path, entry != nil && entry.Type() == fs.ModeSymlink); r.left < 0 {
			return errUntold
		}
		return err
	})
	if err != nil || r.left < 0 || time.Since(r.newest) < tick {
		return ""
	}
	return strings.Join(r.all, "\n")
}

// stamps are those of several files. A negative left says that they do not tell of all changes.
type stamps struct {
	all    []string
	newest time.Time
	left   int
}

func (s *stamps) add(path string, link bool) {
	text, changed := stamp(path)
	s.all = append(s.all, text)
	if changed.After(s.newest) {
		s.newest = changed
	}
	if s.left--; link {
		s.left = -1
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
