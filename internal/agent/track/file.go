package track

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errMany says that a scan costs less than reading each changed file.
var errMany = errors.New("too many changes to follow")

// maxFiles is the largest number of files that are read without a scan.
const maxFiles = 2000

// read updates the entries of the files, and returns the number of changed paths.
func (r *round) read(ctx context.Context) (n int, err error) {
	if len(r.files) > maxFiles {
		return 0, errMany
	}
	files, err := r.choose(ctx)
	if err != nil {
		return 0, err
	}
	if r.size(files) > r.caps.TotalBytes {
		return 0, errMany // the scan names the files that are left out
	}
	for _, path := range files {
		if err := r.file(ctx, path); err != nil {
			return 0, err
		}
	}
	return len(files) + r.gone, nil
}

// size returns the sum of the sizes, without files that are too large.
func (r *round) size(files []string) (total int64) {
	for _, path := range files {
		if info, err := os.Lstat(filepath.Join(r.top, path)); err == nil && info.Size() <= r.caps.FileBytes {
			total += info.Size()
		}
	}
	return total
}

// choose returns the files that are tracked or that git does not ignore.
func (r *round) choose(ctx context.Context) (files []string, err error) {
	var unknown []string
	for _, path := range r.files {
		n, err := r.objects.find(ctx, r.root, path)
		if err != nil {
			return nil, err
		}
		if n == nil || n.isFolder() {
			unknown = append(unknown, path)
		}
	}
	ignored, err := r.ignores.ask(ctx, unknown)
	if err != nil {
		return nil, err
	}
	for _, path := range r.files {
		if !ignored[path] {
			files = append(files, path)
		} else if err := r.remove(ctx, path); err != nil { // a folder that was tracked
			return nil, err
		}
	}
	return files, nil
}

// file updates one entry. The entry of an unreadable file stays.
func (r *round) file(ctx context.Context, path string) error {
	info, err := os.Lstat(filepath.Join(r.top, path))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return r.remove(ctx, path)
	case err == nil && info.IsDir():
		r.watch.mark(path)
		return nil
	case err == nil && info.Mode().Type() == fs.ModeSymlink:
		return r.link(ctx, path)
	}
	why := r.shadow.WhyLeftOut(path)
	if why == "" {
		return r.regular(ctx, path)
	}
	if n, _ := r.objects.find(ctx, r.root, path); n != nil || err != nil || info.Mode().IsRegular() {
		r.leftOut[path] = why
	}
	return nil
}

func (r *round) link(ctx context.Context, path string) error {
	target, err := os.Readlink(filepath.Join(r.top, path))
	if err != nil {
		r.watch.mark(path)
		return nil //nolint:nilerr // the next round reads the path again
	}
	if strings.EqualFold(filepath.Base(path), ".gitmodules") {
		return nil // git tracks no such link
	}
	return r.store(ctx, path, modeLink, int64(len(target)), strings.NewReader(target))
}

func (r *round) regular(ctx context.Context, path string) error {
	f, err := os.OpenFile(filepath.Join(r.top, path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		r.watch.mark(path) // was replaced
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > r.caps.FileBytes {
		r.watch.mark(path)
		return nil
	}
	mode := uint32(modeFile)
	if info.Mode()&0o100 != 0 {
		mode = modeRun
	}
	return r.store(ctx, path, mode, info.Size(), f)
}

// store writes a blob and its entry.
func (r *round) store(ctx context.Context, path string, mode uint32, size int64, content io.ReadSeeker) error {
	old, err := r.objects.find(ctx, r.root, path)
	if err != nil {
		return err
	}
	known := ""
	if old != nil {
		known = old.id
	}
	id, err := r.objects.store("blob", size, content, known)
	if errors.Is(err, io.EOF) { // the file became shorter
		r.watch.mark(path)
		return nil
	}
	if err != nil {
		return err
	}
	delete(r.leftOut, path)
	_, err = r.set(ctx, path, &node{mode: mode, id: id})
	return err
}
