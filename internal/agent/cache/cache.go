// Package cache carries what a setup step downloaded from one sandbox of a project to the
// next, as one archive. It runs inside the sandbox: an archive is another sandbox's word, and
// nothing of it gets out of the folder that it is unpacked into.
package cache

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Unpack fills dir from an archive; one that is not there is none.
func Unpack(archive, dir string) error {
	in, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the cache: %w", err)
	}
	defer in.Close()                                //nolint:errcheck // read only
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // no secret
		return fmt.Errorf("make the cache: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the cache: %w", err)
	}
	defer root.Close() //nolint:errcheck // only a way in
	r := tar.NewReader(in)
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = place(root, entry, r)
		}
		if err != nil {
			return fmt.Errorf("unpack the cache: %w", err)
		}
	}
}

// place makes one entry; root refuses what leads out of it.
func place(root *os.Root, entry *tar.Header, content io.Reader) error {
	mode := fs.FileMode(entry.Mode).Perm() | 0o600 //nolint:gosec // G115: cut to the permission bits
	switch entry.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(entry.Name, mode|0o700)
	case tar.TypeSymlink:
		return root.Symlink(entry.Linkname, entry.Name)
	case tar.TypeReg:
	default:
		return nil
	}
	f, err := root.OpenFile(entry.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close(), root.Chtimes(entry.Name, entry.ModTime, entry.ModTime))
}

// Pack writes dir as an archive of at most limit bytes; a larger one is an error, and not kept.
func Pack(dir, archive string, limit int64) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the cache: %w", err)
	}
	defer root.Close() //nolint:errcheck // only a way in
	half := archive + ".half"
	out, err := os.OpenFile(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("pack the cache: %w", err)
	}
	w := tar.NewWriter(&bounded{to: out, left: limit})
	err = errors.Join(add(root, w), w.Close(), out.Close())
	if err == nil {
		err = os.Rename(half, archive)
	}
	if err != nil {
		_ = os.Remove(half)
		return fmt.Errorf("pack the cache: %w", err)
	}
	return nil
}

func add(root *os.Root, w *tar.Writer) error {
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		kind := entry.Type()
		if err != nil || path == "." || !entry.IsDir() && kind != 0 && kind != fs.ModeSymlink {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := ""
		if kind == fs.ModeSymlink {
			if target, err = root.Readlink(path); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		header.Name, header.Uname, header.Gname = path, "", ""
		if err = w.WriteHeader(header); err != nil || kind != 0 {
			return err
		}
		return copyFile(root, path, w)
	})
}

func copyFile(root *os.Root, path string, w io.Writer) error {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	_, err = io.Copy(w, f)
	return err
}

// bounded fails beyond its limit.
type bounded struct {
	to   io.Writer
	left int64
}

// Write writes while there is room.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errors.New("it is larger than allowed")
	}
	return b.to.Write(p)
}

// Size counts files and bytes of dir: cheap to compare before and after.
func Size(dir string) (files, bytes int64) {
	_ = fs.WalkDir(os.DirFS(dir), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		files++
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return files, bytes
}
