package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// stamp returns a text that differs after each change of a file; empty if there is none.
func stamp(path string) string {
	var stat unix.Stat_t
	if unix.Lstat(path, &stat) != nil {
		return ""
	}
	return fmt.Sprint(stat.Mtim.Nano(), stat.Ctim.Nano(), stat.Size, stat.Ino) // programs can set Mtim back, but not Ctim
}

// maxStamped is the number of files and folders of refs from which git answers faster.
const maxStamped = 300

// errUntold reports that files of a repository do not tell of all changes.
var errUntold = errors.New("too many refs, or links to those of another repository")

// refsStamp returns a text that differs after each change of HEAD or a ref of the repository of a work tree. It is empty where that cannot
// be told cheaply: without a repository, with many refs, or if another repository has the refs.
func refsStamp(work string) string {
	folder := filepath.Join(work, ".git")
	head := stamp(filepath.Join(folder, "HEAD"))
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() || head == "" || stamp(filepath.Join(folder, "commondir")) != "" {
		return ""
	}
	all, left := []string{head}, maxStamped
	for _, name := range []string{"config", "packed-refs", "reftable/tables.list"} {
		if info, err := os.Lstat(filepath.Join(folder, name)); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return ""
		}
		all = append(all, stamp(filepath.Join(folder, name)))
	}
	err := filepath.WalkDir(filepath.Join(folder, "refs"), func(path string, entry fs.DirEntry, err error) error {
		all, left = append(all, stamp(path)), left-1
		if left < 0 || entry != nil && entry.Type() == fs.ModeSymlink {
			return errUntold
		}
		return err
	})
	if err != nil {
		return ""
	}
	return strings.Join(all, "\n")
}
