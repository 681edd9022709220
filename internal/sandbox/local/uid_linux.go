package local

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/task"
)

// UIDCount is the number of user IDs, and so of sandboxes with root, on one machine.
const UIDCount = 1500

// uidDir has the claims on user IDs of all installations of a machine.
const uidDir = "/var/lib/omoi/uids"

// uidBase returns the first user ID. The ID is in a range that no other software uses, if the machine maps this range:
// systemd uses IDs below 65536 for dynamic users, and subordinate IDs start at 100000.
func uidBase() int {
	const quiet, small = 70000, 64000
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return small
	}
	for line := range strings.Lines(string(text)) {
		var from, to, count int
		if _, err := fmt.Sscan(line, &from, &to, &count); err == nil && from <= quiet && from+count >= quiet+UIDCount {
			return quiet
		}
	}
	return small
}

// claims gives each sandbox its own user ID, across all installations of a machine. A claim is a file named by the ID
// that contains the paths of the sandbox. A claim is void when these paths do not exist.
type claims struct {
	dir  string
	base int
}

// take returns the user ID of the folder, and claims a new one if it has none. The folder must exist.
func (c claims) take(ctx context.Context, f, trash folder) (int, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return 0, unavailable("create the folder of user IDs", err)
	}
	lock, err := fence.Lock(ctx, filepath.Join(c.dir, "lock"))
	if err != nil {
		return 0, err
	}
	defer lock.Close() //nolint:errcheck // nothing is written
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(f))
	first := int(sum.Sum32() % UIDCount)
	busy := busyUIDs()
	for i := range UIDCount {
		uid := c.base + (first+i)%UIDCount
		mine, err := c.claim(uid, f, trash, busy[uid])
		if mine || err != nil {
			return uid, err
		}
	}
	return 0, task.Errorf(task.CodeExhausted, "all %d user IDs for local sandboxes are in use", UIDCount)
}

// claim reports whether uid belongs to the folder, after claiming it if it is free.
func (c claims) claim(uid int, f, trash folder, busy bool) (bool, error) {
	path := filepath.Join(c.dir, strconv.Itoa(uid))
	text, err := os.ReadFile(path)
	switch {
	case err == nil && string(text) == claimText(f, trash):
		return true, nil
	case err == nil && stands(string(text)), busy:
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, unavailable("read a claim on a user ID", err)
	}
	if err := os.WriteFile(path, []byte(claimText(f, trash)), 0o600); err != nil {
		return false, unavailable("claim a user ID", err)
	}
	return true, nil
}

func claimText(f, trash folder) string { return string(f) + "\n" + string(trash) }

// stands reports whether a path of a claim still exists.
func stands(text string) bool {
	for line := range strings.Lines(text) {
		if _, err := os.Lstat(strings.TrimSuffix(line, "\n")); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// free removes the claim of a folder; uid is -1 if its labels were never written. A failure is ignored, because the
// claim is void.
func (c claims) free(uid int, f, trash folder) {
	paths := []string{filepath.Join(c.dir, strconv.Itoa(uid))}
	if uid < 0 {
		paths, _ = filepath.Glob(filepath.Join(c.dir, "[0-9]*"))
	}
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && string(text) == claimText(f, trash) {
			_ = os.Remove(path)
		}
	}
}

// busyUIDs returns the users with running processes: an ID that another program uses is not claimed.
func busyUIDs() map[int]bool {
	busy := map[int]bool{}
	for _, one := range proctable.All() {
		if info, err := os.Stat(procPath(one.PID, "")); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				busy[int(st.Uid)] = true
			}
		}
	}
	return busy
}
