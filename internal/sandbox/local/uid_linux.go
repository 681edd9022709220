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

// UIDCount is how many user ids, and so sandboxes of a root installation, one machine has.
const UIDCount = 1500

// uidDir holds the claims on user ids of all installations of a machine.
const uidDir = "/var/lib/omoi/uids"

// uidBase is the first of them. It picks a range that nobody else gives out, if this machine maps it:
// below 65536 systemd has its dynamic users, from 100000 on there are subordinate ids.
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

// claims hands out user ids, one a sandbox, over all installations of a machine: a claim is
// a file named by the id that holds the sandbox's folder, and is void once that is gone.
type claims struct {
	dir  string
	base int
}

// take answers the id of the folder, an earlier one if it has one. The folder must exist.
func (c claims) take(ctx context.Context, f, trash folder) (int, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return 0, unavailable("make the folder of user ids", err)
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

// claim answers true if uid is now, or was already, the folder's.
func (c claims) claim(uid int, f, trash folder, busy bool) (bool, error) {
	path := filepath.Join(c.dir, strconv.Itoa(uid))
	text, err := os.ReadFile(path)
	switch {
	case err == nil && string(text) == claimText(f, trash):
		return true, nil
	case err == nil && stands(string(text)), busy:
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, unavailable("read a claim on a user id", err)
	}
	if err := os.WriteFile(path, []byte(claimText(f, trash)), 0o600); err != nil {
		return false, unavailable("claim a user id", err)
	}
	return true, nil
}

func claimText(f, trash folder) string { return string(f) + "\n" + string(trash) }

// stands reports whether the sandbox of a claim, or what is left of it, is still there.
func stands(text string) bool {
	for line := range strings.Lines(text) {
		if _, err := os.Lstat(strings.TrimSuffix(line, "\n")); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// free gives the id of a folder back; uid is -1 where its labels were never written. A claim
// that is left behind is void anyway.
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

// busyUIDs are the users that run something now: an id in other use is not handed out.
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
