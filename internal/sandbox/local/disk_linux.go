package local

import (
	"errors"
	"fmt"
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
