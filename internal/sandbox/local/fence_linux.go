package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/pause"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// fence is the lock of one sandbox, held, with its tombstone. Its file stands outside the
// sandbox's folder, so that it outlives it.
type fence struct{ file *os.File }

// tombstone is what a delete leaves in the fence.
type tombstone struct {
	Labels    sandbox.Labels `json:"labels"`
	DeletedAt time.Time      `json:"deleted_at"`
}

// fenceLife is how long a tombstone stays: far longer than any create can be under way.
const fenceLife = 30 * 24 * time.Hour

// takeFence waits for the lock of the named sandbox. It gives up with ctx.
func takeFence(ctx context.Context, path string) (*fence, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		f, err := tryFence(path)
		if err != nil || f != nil {
			return f, err
		}
		if err := pause.For(ctx, wait); err != nil {
			return nil, fmt.Errorf("wait for the lock of a sandbox: %w", err)
		}
	}
}

// tryFence answers nil without an error while another holds the lock.
func tryFence(path string) (*fence, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unavailable("open the lock of a sandbox", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && isStill(file, path) {
		return &fence{file: file}, nil
	}
	_ = file.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, nil //nolint:nilnil // nil: somebody else holds it
	}
	return nil, unavailable("lock a sandbox", err)
}

// isStill reports whether path still names the open file: a lock on a removed one locks nothing.
func isStill(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(open, now)
}

func (f *fence) release() { _ = f.file.Close() }

// deleted reports whether a delete stands here.
func (f *fence) deleted() (bool, error) {
	info, err := f.file.Stat()
	if err != nil {
		return false, unavailable("read a tombstone", err)
	}
	return info.Size() > 0, nil
}

// bury writes the tombstone, before anything is removed.
func (f *fence) bury(labels sandbox.Labels) error {
	if done, err := f.deleted(); done || err != nil {
		return err
	}
	text, err := json.Marshal(tombstone{Labels: labels, DeletedAt: time.Now().UTC()})
	if err != nil {
		return fmt.Errorf("encode a tombstone: %w", err)
	}
	if _, err := f.file.WriteAt(text, 0); err != nil {
		return unavailable("write a tombstone", err)
	}
	return nil
}

// pruneFences forgets the tombstones of sandboxes that were deleted long ago.
func pruneFences(folder string, now time.Time) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return unavailable("list tombstones", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < fenceLife || info.Size() == 0 {
			continue
		}
		if err := pruneFence(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func pruneFence(path string) error {
	f, err := tryFence(path)
	if err != nil || f == nil {
		return err
	}
	defer f.release()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable("remove an old tombstone", err)
	}
	return nil
}
