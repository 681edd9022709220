package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// deepest is how many folders may stand in each other: one descriptor is open for each.
	deepest = 1000
	// smallest is what a file takes at least, for its name and its inode: a disk also ends
	// when these do.
	smallest = 4096
	// block is the unit of st_blocks.
	block = 512
)

var errTooDeep = fmt.Errorf("folders stand in each other more than %d deep", deepest)

// usage adds up what a hostile tree takes on its disk, while it changes. It follows no link
// and opens nothing but folders.
type usage struct {
	enough int64 // counting ends above it
	device uint64
	total  int64
	seen   map[uint64]struct{} // files with several names, or none, that are in the sum
}

// measure counts the tree, and files without a name that the processes hold open.
func measure(path string, pids []int, enough int64) (int64, error) {
	top, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	defer top.Close() //nolint:errcheck // only read
	var st unix.Stat_t
	if err := unix.Fstat(fdOf(top), &st); err != nil {
		return 0, fmt.Errorf("look at %s: %w", path, err)
	}
	u := &usage{enough: enough, device: st.Dev, seen: map[uint64]struct{}{}}
	if err := u.walk(top, 0); err != nil {
		return u.total, err
	}
	for _, pid := range pids {
		u.unnamed(pid)
	}
	return u.total, nil
}

func fdOf(f *os.File) int { return int(f.Fd()) }

func (u *usage) full() bool { return u.total > u.enough }

func (u *usage) walk(dir *os.File, depth int) error {
	for !u.full() {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := u.entry(dir, name, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || len(names) == 0 {
			return nil
		}
	}
	return nil
}

// entry counts one name. What has just gone, or is closed to us, is not there.
func (u *usage) entry(dir *os.File, name string, depth int) error {
	var st unix.Stat_t
	if unix.Fstatat(fdOf(dir), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil
	}
	folder := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !folder && st.Nlink > 1 && !u.first(st.Ino) {
		return nil
	}
	u.total += max(st.Blocks*block, smallest)
	if !folder {
		return nil
	}
	if depth >= deepest {
		return errTooDeep
	}
	fd, err := unix.Openat(fdOf(dir), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	child := os.NewFile(uintptr(fd), name)
	defer child.Close() //nolint:errcheck // only read
	return u.walk(child, depth+1)
}

func (u *usage) first(inode uint64) bool {
	_, known := u.seen[inode]
	u.seen[inode] = struct{}{}
	return !known
}

// unnamed counts files that a process has removed and still writes to.
func (u *usage) unnamed(pid int) {
	dir, err := os.Open(procPath(pid, "fd"))
	if err != nil {
		return
	}
	defer dir.Close() //nolint:errcheck // only read
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		info, err := os.Stat(procPath(pid, "fd/"+name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && st.Nlink == 0 && st.Dev == u.device && u.first(st.Ino) {
			u.total += st.Blocks * block
		}
	}
}
