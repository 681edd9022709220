package packstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// folder stores objects as files of a folder.
type folder string

// partial is the suffix of files that Put has not completed.
const partial = ".part"

func (f folder) path(key string) string { return filepath.Join(string(f), key) }

func (f folder) Put(ctx context.Context, key string, _ int64, content io.Reader) error {
	file, err := os.OpenFile(f.path(key)+partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return failed("write", err)
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, ctx.Err(), file.Sync(), file.Close()); err == nil {
		err = errors.Join(os.Rename(file.Name(), f.path(key)), f.sync())
	}
	if err != nil {
		return failed("write", errors.Join(err, f.Delete(ctx, key)))
	}
	return nil
}

// sync makes new names of the folder durable.
func (f folder) sync() error {
	dir, err := os.Open(string(f))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (f folder) Read(_ context.Context, key string, offset, most int64) ([]byte, error) {
	file, err := os.Open(f.path(key))
	if errors.Is(err, fs.ErrNotExist) && f.sync() == nil { // the folder is there
		return nil, missing(err)
	}
	if err != nil {
		return nil, failed("read", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.NewSectionReader(file, offset, most))
	switch {
	case err != nil:
		return nil, failed("read", err)
	case len(content) == 0:
		return nil, missing(io.ErrUnexpectedEOF)
	}
	return content, nil
}

func (f folder) Delete(_ context.Context, key string) error {
	for _, path := range []string{f.path(key), f.path(key) + partial} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed("delete", err)
		}
	}
	return nil
}
