package tempdir

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

// Limit runs fill, which writes files below dir, and ends its context when these have more than most bytes. It reports whether they had.
func Limit(ctx context.Context, dir string, most int64, fill func(context.Context) error) (over bool, err error) {
	const pause = 200 * time.Millisecond
	ctx, end := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for !over && wait.For(ctx, pause) == nil {
			over = SizeOf(dir) > most
		}
		end()
	}()
	err = fill(ctx)
	end()
	<-watched
	return over || SizeOf(dir) > most, err
}

// SizeOf returns the bytes of all files below dir.
func SizeOf(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a file that is gone has no size
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
