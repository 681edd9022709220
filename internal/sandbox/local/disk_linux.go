package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

const (
	// diskTick is how often the free space is asked for, which costs next to nothing.
	diskTick = 250 * time.Millisecond
	// diskRest is the least time between two counts that no loss of free space called for.
	diskRest = 5 * time.Second
	// diskShare is how many times as long as a count the rest after it is: one per cent.
	diskShare = 100
)

// diskWatch counts what a sandbox holds, since a bound folder has no limit of its own. That
// is detection, not a limit: how late it comes depends on how fast the disk fills.
type diskWatch struct {
	folder folder
	limit  int64
	margin bool // a short command may add a tenth to what it found
	pids   func() []int

	used  int64 // at the last count
	free  int64 // of the file system, likewise
	next  time.Time
	words chan string // why it must end
}

func watchDisk(w *diskWatch) <-chan string {
	w.words = make(chan string, 1)
	w.free, w.next = w.freeBytes(), time.Now().Add(diskRest)
	if w.limit > 0 {
		go w.run()
	}
	return w.words
}

func (w *diskWatch) run() {
	for range time.Tick(diskTick) {
		if !w.due() {
			continue
		}
		if why := w.count(); why != "" {
			w.words <- why
			return
		}
	}
}

// due is true when time is over, or when so much free space has gone since the last count
// that this sandbox may be near its limit.
func (w *diskWatch) due() bool {
	return time.Now().After(w.next) || w.free-w.freeBytes() > max(w.limit-w.used, 0)/4
}

// count answers why the sandbox must end; empty if it need not.
func (w *diskWatch) count() string {
	begun, free := time.Now(), w.freeBytes()
	enough := w.limit
	if w.margin {
		enough = sandbox.MaxDisk * 2
	}
	used, err := measure(string(w.folder), w.pids(), enough)
	if errors.Is(err, errTooDeep) {
		return "its disk cannot be measured: " + err.Error()
	}
	w.used, w.free = used, free
	w.next = time.Now().Add(max(diskRest, diskShare*time.Since(begun)))
	if w.margin {
		w.limit, w.margin = max(w.limit, used)+w.limit/10, false
	}
	if used > w.limit {
		return fmt.Sprintf("it holds more than its disk of %.2f GB", float64(w.limit)/float64(sandbox.GB))
	}
	return ""
}

func (w *diskWatch) freeBytes() int64 {
	var st unix.Statfs_t
	if unix.Statfs(string(w.folder), &st) != nil {
		return w.free
	}
	return int64(st.Bfree) * st.Bsize //nolint:gosec // G115: of a real disk
}

// limitFiles binds this process, and so all that it starts. One file is no larger than the
// whole disk. A limit of one byte for the memory of crashed programs keeps it from being
// written, and spares the machine's crash handler, which runs as root, from reading what an
// agent made up.
func limitFiles(disk int64) error {
	most := map[int]int64{unix.RLIMIT_CORE: 1}
	if disk > 0 {
		most[unix.RLIMIT_FSIZE] = disk
	}
	for what, bytes := range most {
		var limit unix.Rlimit
		err := unix.Getrlimit(what, &limit)
		if err == nil {
			limit.Max = min(limit.Max, uint64(bytes)) //nolint:gosec // G115: above zero
			limit.Cur = limit.Max
			err = unix.Setrlimit(what, &limit)
		}
		if err != nil {
			return fmt.Errorf("limit the size of files: %w", err)
		}
	}
	return nil
}

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
