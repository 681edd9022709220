package docker

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

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/lockfile"
)

// fence is the lock of one sandbox, held, with what is known of its beginning and its end.
type fence struct {
	file *os.File
	note note
}

// note is what the file of a fence says.
type note struct {
	Labels sandbox.Labels `json:"labels"`
	// Asked is when the engine was asked to make a container and has not answered.
	Asked *time.Time `json:"asked,omitempty"`
	// Full says why what ran in it was ended: it held more than its disk.
	Full string `json:"full,omitempty"`
	// Deleted makes it a tombstone.
	Deleted *time.Time `json:"deleted,omitempty"`
}

const (
	// fenceLife is how long a tombstone stays: far longer than any create can be under way.
	fenceLife = 30 * 24 * time.Hour
	// mostPruned is how many tombstones one pass removes.
	mostPruned = 10_000
	// lateCreate is how long after its caller's death the engine may carry out a create.
	lateCreate = 30 * time.Second
)

// takeFence waits for the lock of a sandbox. It gives up with ctx.
func takeFence(ctx context.Context, path string) (*fence, error) {
	file, err := lockfile.Take(ctx, path)
	if err != nil {
		return nil, err
	}
	return readFence(file)
}

// readFence is the fence of a lock that is held.
func readFence(file *os.File) (*fence, error) {
	f := &fence{file: file}
	if err := f.read(); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}

func (f *fence) release() { _ = f.file.Close() }

// read loads the note. One that is cut off was being written when its writer died, which is
// when a create may be under way.
func (f *fence) read() error {
	text, err := io.ReadAll(io.NewSectionReader(f.file, 0, 1<<16))
	if err != nil {
		return unavailable("read the lock of a sandbox", err)
	}
	if len(text) == 0 || json.Unmarshal(text, &f.note) == nil {
		return nil
	}
	info, err := f.file.Stat()
	if err != nil {
		return unavailable("read the lock of a sandbox", err)
	}
	at := info.ModTime()
	f.note = note{Asked: &at}
	return nil
}

func (f *fence) write() error {
	text, err := json.Marshal(f.note)
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

func (f *fence) deleted() bool { return f.note.Deleted != nil }

// bury writes the tombstone, before anything is removed.
func (f *fence) bury(labels sandbox.Labels) error {
	if f.deleted() {
		return nil
	}
	now := time.Now().UTC()
	f.note.Labels, f.note.Deleted = labels, &now
	return f.write()
}

// asking notes that the engine is asked to make something, until it has answered.
func (f *fence) asking(labels sandbox.Labels, ask func() error) error {
	now := time.Now().UTC()
	f.note.Labels, f.note.Asked = labels, &now
	if err := f.write(); err != nil {
		return err
	}
	err := ask()
	if err != nil && !answered(err) {
		return err
	}
	f.note.Asked = nil
	return errors.Join(err, f.write())
}

// settles is how long a create that nobody heard the answer of may still appear.
func (f *fence) settles(now time.Time) time.Duration {
	if f.note.Asked == nil {
		return 0
	}
	return max(f.note.Asked.Add(lateCreate).Sub(now), 0)
}

// Prune implements [sandbox.Pruner].
func (p *Provider) Prune(now time.Time) error { return pruneFences(p.cfg.StateDir, now) }

// pruneFences forgets the sandboxes that were deleted long ago.
func pruneFences(folder string, now time.Time) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return unavailable("list tombstones", err)
	}
	removed, errs := 0, []error{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < fenceLife {
			continue
		}
		gone, err := pruneFence(filepath.Join(folder, entry.Name()))
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

// pruneFence reports whether it removed a fence: that of a sandbox that exists stays.
func pruneFence(path string) (removed bool, err error) {
	lock, err := lockfile.Try(path)
	if err != nil || lock == nil {
		return false, err
	}
	f, err := readFence(lock)
	if err != nil {
		return false, err
	}
	defer f.release()
	if !f.deleted() {
		return false, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, unavailable("remove an old tombstone", err)
	}
	return true, nil
}
