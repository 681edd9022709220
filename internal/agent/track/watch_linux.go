package track

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch reports by inotify what changes in folders. Paths are relative to the top; that of the top is empty.
type watch struct {
	top   string
	limit int
	file  *os.File
	raw   syscall.RawConn
	done  chan struct{}

	mu    sync.Mutex
	paths map[int32]string // of the watches
	ids   map[string]int32 // of the paths
	seen  changes
	buf   [64 << 10]byte
}

const (
	watchEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_CLOSE_WRITE |
		unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK
	folderEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
)

// newWatch returns a watch without folders. Limit 0: only the host limits the number of folders.
func newWatch(top string, limit int) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	w := &watch{
		top: top, limit: limit, file: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{}),
		paths: map[int32]string{}, ids: map[string]int32{},
	}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errRefused, err), w.file.Close())
	}
	go w.follow()
	return w, nil
}

func (w *watch) close() error {
	close(w.done)
	return w.file.Close()
}

// follow reads the queue of the kernel, which holds 16,384 events. follow pauses between reads, because the kernel merges equal
// events.
func (w *watch) follow() {
	const pause = 20 * time.Millisecond
	for w.raw.Read(func(fd uintptr) bool { return w.read(int(fd)) }) == nil {
		select {
		case <-w.done:
			return
		case <-time.After(pause):
		}
	}
}

// add watches a folder. A folder that disappeared is no error.
func (w *watch) add(path string) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.ids[path]; !ok && w.limit > 0 && len(w.ids) >= w.limit {
		return fmt.Errorf("%w: the limit is %d", errRefused, w.limit)
	}
	var id int
	control := w.raw.Control(func(fd uintptr) {
		id, err = unix.InotifyAddWatch(int(fd), filepath.Join(w.top, path), watchEvents)
	})
	switch {
	case control != nil:
		return fmt.Errorf("watch a folder: %w", control)
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) || err != nil && path == "":
		return fmt.Errorf("%w: %w", errRefused, err)
	case err != nil:
		return nil
	}
	w.forget(int32(id)) //nolint:gosec // IDs have 32 bits; a moved folder had another path
	w.paths[int32(id)], w.ids[path] = path, int32(id)
	return nil
}

// drain returns the changes since the last call.
func (w *watch) drain() changes {
	w.peek()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = changes{}
	return seen
}

// peek reads the queue. covers reports whether a path changed since the last drain.
func (w *watch) peek() (covers func(path string) bool) {
	_ = w.raw.Control(func(fd uintptr) { w.read(int(fd)) })
	return func(path string) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.seen.covers(path)
	}
}

func (w *watch) dirty() bool {
	w.peek()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.any()
}

// markLost notes that changes were lost.
func (w *watch) markLost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.lost = true
}

// mark notes a path as changed.
func (w *watch) mark(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.add(path)
}

func (w *watch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ids)
}

// read reads the queue until it is empty, and reports whether there were events.
func (w *watch) read(fd int) (some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		n, err := unix.Read(fd, w.buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return some
		}
		some = true
		w.parse(w.buf[:n])
	}
}

func (w *watch) parse(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		id := int32(binary.NativeEndian.Uint32(events)) //nolint:gosec // as the kernel wrote it
		mask := binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:end], []byte{0})
		w.note(id, mask, string(name))
		events = events[end:]
	}
}

func (w *watch) note(id int32, mask uint32, name string) {
	folder, known := w.paths[id]
	switch {
	case mask&(unix.IN_Q_OVERFLOW|unix.IN_UNMOUNT) != 0:
		w.seen.lost = true
	case !known:
	case mask&unix.IN_IGNORED != 0:
		w.forget(id)
	case name == "":
		w.seen.lost = w.seen.lost || folder == "" && mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0
	case folder == "" && name == ".git" || mask&folderEvents == 0 && w.passed(join(folder, name)):
	default:
		w.noteName(join(folder, name), mask)
		w.seen.rules = w.seen.rules || name == ".gitignore"
	}
}

// passed reports whether a file is a named pipe that [gitcmd.Pipes] opens.
func (w *watch) passed(path string) bool {
	if name := filepath.Base(path); name != ".gitignore" && name != ".gitattributes" {
		return false
	}
	info, err := os.Lstat(filepath.Join(w.top, path))
	return err == nil && info.Mode().Type() == fs.ModeNamedPipe
}

func (w *watch) noteName(path string, mask uint32) {
	if mask&unix.IN_ISDIR != 0 {
		if mask&folderEvents == 0 && w.ids[path] != 0 {
			return
		}
		if mask&unix.IN_MOVED_FROM != 0 {
			w.drop(path)
		}
	}
	w.seen.add(path)
}

// drop removes the watches of a folder that moved away.
func (w *watch) drop(path string) {
	for one, id := range w.ids {
		if one == path || strings.HasPrefix(one, path+"/") {
			_ = w.raw.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(id)) }) //nolint:gosec // an ID is positive
			w.forget(id)
		}
	}
}

func (w *watch) forget(id int32) {
	if path, ok := w.paths[id]; ok {
		delete(w.paths, id)
		if w.ids[path] == id {
			delete(w.ids, path)
		}
	}
}
