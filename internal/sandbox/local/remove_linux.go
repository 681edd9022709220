package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxDepth is how deep removal walks before it lifts what is below up to the top: a
// hostile tree may be far deeper than paths, stacks or descriptors reach.
const maxDepth = 32

// remover empties a folder without ever following a link. Nothing alive may still change it.
type remover struct {
	top    *os.File
	lifted int
	last   string // a name in the top folder that goes last
}

// removeTree removes a folder and all that is in it, its file called last as the last.
func removeTree(path, last string) error {
	_ = os.Chmod(path, 0o700) //nolint:gosec // G302: ours again; where it fails, opening tells why
	top, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer top.Close() //nolint:errcheck // removed below
	r := &remover{top: top, last: last}
	for again := true; again; {
		before := r.lifted
		if err := r.empty(top, 0); err != nil {
			return err
		}
		again = r.lifted > before
	}
	if err := unix.Unlinkat(fdOf(top), last, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", last, err)
	}
	if err := unix.Rmdir(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

func fdOf(f *os.File) int { return int(f.Fd()) }

// empty removes what is in dir, reading again until it finds nothing.
func (r *remover) empty(dir *os.File, depth int) error {
	for {
		removed := 0
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read a folder: %w", err)
		}
		for {
			names, err := dir.Readdirnames(512)
			for _, name := range names {
				if depth == 0 && name == r.last {
					continue
				}
				if err := r.remove(dir, name, depth); err != nil {
					return err
				}
				removed++
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("read a folder: %w", err)
			}
		}
		if removed == 0 {
			return nil
		}
	}
}

func (r *remover) remove(dir *os.File, name string, depth int) error {
	err := unix.Unlinkat(fdOf(dir), name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err = unix.Unlinkat(fdOf(dir), name, unix.AT_REMOVEDIR); err == nil {
		return nil
	}
	// Only folders are left. Their user may have taken every right from them.
	if err := unix.Fchmodat(fdOf(dir), name, 0o700, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		_ = unix.Fchmodat(fdOf(dir), name, 0o700, 0) // an older kernel; it is a folder, no link
	}
	if depth >= maxDepth {
		return r.lift(dir, name)
	}
	fd, err := unix.Openat(fdOf(dir), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a folder to remove it: %w", err)
	}
	child := os.NewFile(uintptr(fd), name)
	defer child.Close() //nolint:errcheck // removed below
	if err := r.empty(child, depth+1); err != nil {
		return err
	}
	if err := unix.Unlinkat(fdOf(dir), name, unix.AT_REMOVEDIR); err != nil {
		return fmt.Errorf("remove a folder: %w", err)
	}
	return nil
}

// lift moves a folder to the top, where a later round finds it.
func (r *remover) lift(dir *os.File, name string) error {
	for {
		r.lifted++
		err := unix.Renameat2(fdOf(dir), name, fdOf(r.top), ".deep-"+strconv.Itoa(r.lifted), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			if err != nil {
				return fmt.Errorf("lift a deep folder: %w", err)
			}
			return nil
		}
	}
}
