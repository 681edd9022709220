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
	// diskTick is the interval of the cheap check of free space.
	diskTick = 250 * time.Millisecond
	// diskRest is the minimum time between two counts, unless free space drops fast.
	diskRest = 5 * time.Second
	// diskShare is the pause after a count, as a multiple of the count's duration: counting takes at most one percent
	// of the time.
	diskShare = 100
)

// diskWatch measures the disk use of a sandbox, because its folder has no size limit of its own. diskWatch detects the
// excess after the fact; the delay depends on how fast the disk fills.
type diskWatch struct {
	folder folder
	limit  int64
	margin bool // the first count sets the limit to its result plus a tenth: a short command may start above the limit
	pids   func() []int

	used  int64 // bytes at the last count
	free  int64 // bytes free on the file system at the last count
	next  time.Time
	words chan string // the reason why the command must end
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

// due reports whether the pause is over, or free space has dropped so much since the last count that the sandbox may be
// near its limit.
func (w *diskWatch) due() bool {
	return time.Now().After(w.next) || w.free-w.freeBytes() > max(w.limit-w.used, 0)/4
}

// count measures the folder, and returns the reason why the command must end, "" if it may continue.
func (w *diskWatch) count() string {
	begun, free := time.Now(), w.freeBytes()
	enough := w.limit
	if w.margin {
		enough = sandbox.MaxDisk * 2
	}
	used, err := measure(string(w.folder), w.pids(), enough)
	if errors.Is(err, errTooDeep) {
		return "cannot measure the disk use: " + err.Error()
	}
	w.used, w.free = used, free
	w.next = time.Now().Add(max(diskRest, diskShare*time.Since(begun)))
	if w.margin {
		w.limit, w.margin = max(w.limit, used)+w.limit/10, false
	}
	if used > w.limit {
		return fmt.Sprintf("the disk use exceeds the limit of %.2f GB", float64(w.limit)/float64(sandbox.GB))
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

// limitFiles sets limits of this process and its children. A file is at most as large as the disk limit. The core file
// limit of one byte prevents core dumps. The limit also keeps the crash handler of the machine, which runs as root,
// from reading the memory of an agent's program.
func limitFiles(disk int64) error {
	most := map[int]int64{unix.RLIMIT_CORE: 1}
	if disk > 0 {
		most[unix.RLIMIT_FSIZE] = disk
	}
	for what, bytes := range most {
		var limit unix.Rlimit
		err := unix.Getrlimit(what, &limit)
		if err == nil {
			limit.Max = min(limit.Max, uint64(bytes)) //nolint:gosec // G115: positive
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
	// deepest is the maximum nesting of folders: each open folder takes a descriptor.
	deepest = 1000
	// smallest is the number of bytes counted for any file, for its name and inode: a file system also has a maximum
	// number of inodes.
	smallest = 4096
	// block is the unit of st_blocks in bytes.
	block = 512
)

var errTooDeep = fmt.Errorf("folders are nested more than %d deep", deepest)

// usage adds up the disk use of a tree that may change and be hostile. usage follows no link and opens folders only.
type usage struct {
	enough int64 // counting stops above this number of bytes
	device uint64
	total  int64
	seen   map[uint64]struct{} // inodes of counted files with several names or none
}

// measure returns the bytes of the tree, including deleted files that the processes hold open.
func measure(path string, pids []int, enough int64) (int64, error) {
	top, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	defer top.Close() //nolint:errcheck // only read
	var st unix.Stat_t
	if err := unix.Fstat(fdOf(top), &st); err != nil {
		return 0, fmt.Errorf("stat %s: %w", path, err)
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

// entry counts one entry. An entry that has disappeared or cannot be opened counts as absent.
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

// unnamed counts deleted files that a process holds open.
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
