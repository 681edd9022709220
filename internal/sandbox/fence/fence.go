//go:build unix

// Package fence keeps a file for each sandbox that a provider makes on this machine: the lock of the process that creates or removes it, and after
// a delete the tombstone, which a create that comes late finds. A lock ends with its holder.
package fence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Fence is the lock of one sandbox, held, with what is known of its beginning and its end. Its file is outside of the sandbox, so
// that it outlives it.
type Fence struct {
	Note

	file *os.File
}

// Note is what the file of a fence says.
type Note struct {
	// Asked is when an engine was asked to make something and has not answered.
	Asked *time.Time `json:"asked,omitempty"`
	// Full says why what ran in it was ended: it held more than its disk.
	Full string `json:"full,omitempty"`
	// Deleted makes it a tombstone.
	Deleted *time.Time `json:"deleted,omitempty"`
}

const (
	// life is how long a tombstone stays: far longer than any create can be under way.
	life = 30 * 24 * time.Hour
	// mostPruned is how many tombstones one pass removes.
	mostPruned = 10_000
)

// Take waits for the lock of a sandbox, whose file is at path. It gives up with ctx.
func Take(ctx context.Context, path string) (*Fence, error) {
	file, err := Lock(ctx, path)
	if err != nil {
		return nil, err
	}
	return read(file)
}

// read is the fence of a lock that is held. A note that is cut off was being written when its writer died, which is when a create may
// be under way.
func read(file *os.File) (*Fence, error) {
	f := &Fence{file: file}
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<16))
	if err == nil && len(text) > 0 && json.Unmarshal(text, &f.Note) != nil {
		var info fs.FileInfo
		if info, err = file.Stat(); err == nil {
			at := info.ModTime()
			f.Note = Note{Asked: &at}
		}
	}
	if err != nil {
		f.Release()
		return nil, unavailable("read the lock of a sandbox", err)
	}
	return f, nil
}

// Release gives the lock back.
func (f *Fence) Release() { _ = f.file.Close() }

// IsDeleted reports whether the sandbox has a tombstone.
func (f *Fence) IsDeleted() bool { return f.Deleted != nil }

// Write writes the note down.
func (f *Fence) Write() error {
	text, err := json.Marshal(f.Note)
	if err != nil {
		return fmt.Errorf("encode the note of a sandbox: %w", err)
	}
	if _, err = f.file.WriteAt(text, 0); err == nil {
		err = f.file.Truncate(int64(len(text)))
	}
	if err != nil {
		return unavailable("write the note of a sandbox", err)
	}
	return nil
}

// Bury writes the tombstone, before anything is removed.
func (f *Fence) Bury() error {
	if f.IsDeleted() {
		return nil
	}
	now := time.Now().UTC()
	f.Deleted = &now
	return f.Write()
}

// Prune forgets the sandboxes that were deleted long ago; see [sandbox.Pruner].
func Prune(folder string, now time.Time) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return unavailable("list tombstones", err)
	}
	removed, errs := 0, []error{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < life {
			continue
		}
		gone, err := prune(filepath.Join(folder, entry.Name()))
		errs = append(errs, err)
		if gone {
			removed++
		}
		if removed == mostPruned {
			break
		}
	}
	return errors.Join(errs...)
}

// prune reports whether it removed a fence: that of a sandbox that exists stays.
func prune(path string) (removed bool, err error) {
	lock, err := TryLock(path)
	if err != nil || lock == nil {
		return false, err
	}
	f, err := read(lock)
	if err != nil {
		return false, err
	}
	defer f.Release()
	if !f.IsDeleted() {
		return false, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, unavailable("remove an old tombstone", err)
	}
	return true, nil
}

func unavailable(doing string, err error) error {
	return task.Errorf(task.CodeUnavailable, "cannot %s", doing).WithCause(err)
}

// Lock waits for the lock of a file, which it makes where it is missing. Closing the file
// gives the lock back. Errors: ctx's if that ends first, [task.CodeUnavailable].
func Lock(ctx context.Context, path string) (*os.File, error) {
	const longest = 20 * time.Millisecond
	for delay := time.Millisecond; ; delay = min(2*delay, longest) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for the lock of a sandbox: %w", err)
		}
		file, err := TryLock(path)
		if err != nil || file != nil {
			return file, err
		}
		if err := wait.For(ctx, delay); err != nil {
			return nil, fmt.Errorf("wait for the lock of a sandbox: %w", err)
		}
	}
}

// TryLock is Lock that does not wait: nil without an error while another holds the lock.
func TryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "cannot open the lock of a sandbox").WithCause(err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && IsStill(file, path) {
		return file, nil
	}
	_ = file.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, nil //nolint:nilnil // nil: somebody else holds it
	}
	return nil, task.Errorf(task.CodeUnavailable, "cannot lock a sandbox").WithCause(err)
}

// IsStill reports whether path still names the open file: a lock on a removed one locks nothing.
func IsStill(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(open, now)
}
