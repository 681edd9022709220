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

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/lockfile"
)

// fence is the lock of one sandbox, held, with its tombstone. Its file stands outside the
// sandbox's folder, so that it outlives it.
type fence struct{ file *os.File }

// tombstone is what a delete leaves in the fence.
type tombstone struct {
	Labels    sandbox.Labels `json:"labels"`
	DeletedAt time.Time      `json:"deleted_at"`
}

const (
	// fenceLife is how long a tombstone stays: far longer than any create can be under way.
	fenceLife = 30 * 24 * time.Hour
	// mostPruned is how many tombstones one pass removes.
	mostPruned = 10_000
)

// takeFence waits for the lock of the named sandbox. It gives up with ctx.
func takeFence(ctx context.Context, path string) (*fence, error) {
	file, err := lockfile.Take(ctx, path)
	if err != nil {
		return nil, err
	}
	return &fence{file: file}, nil
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

// Prune implements [sandbox.Pruner].
func (p *Provider) Prune(now time.Time) error {
	return pruneFences(filepath.Join(p.cfg.Root, ".fences"), now)
}

// pruneFences forgets the tombstones of sandboxes that were deleted long ago.
func pruneFences(folder string, now time.Time) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return unavailable("list tombstones", err)
	}
	old := 0
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < fenceLife || info.Size() == 0 {
			continue
		}
		if old++; old > mostPruned {
			break
		}
		if err := pruneFence(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func pruneFence(path string) error {
	lock, err := lockfile.Try(path)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // only its lock is wanted
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable("remove an old tombstone", err)
	}
	return nil
}
