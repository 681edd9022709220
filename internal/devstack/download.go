package devstack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/xi2/xz"

	"github.com/omoi-dev/omoi/internal/task"
)

// maxDownload limits the size of an archive in bytes. Current archives have about 25 MB.
const maxDownload = 256 << 20

// download fetches the PostgreSQL build of embedded-postgres, a jar that contains a .txz, verifies its published
// SHA-256, and unpacks it into dir. On an error dir does not exist.
func download(ctx context.Context, base, version, dir string) error {
	system, arch := platform()
	name := fmt.Sprintf("embedded-postgres-binaries-%s-%s", system, arch)
	url := fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s/%s-%s.jar", strings.TrimSuffix(base, "/"), name, version, name, version)
	jar, err := fetch(ctx, url)
	if err != nil {
		return err
	}
	sum, err := fetch(ctx, url+".sha256")
	if err != nil {
		return err
	}
	got := sha256.Sum256(jar)
	if want := strings.TrimSpace(string(sum)); !strings.EqualFold(want, hex.EncodeToString(got[:])) {
		return task.Errorf(task.CodeUnavailable, "The downloaded PostgreSQL does not match its published SHA-256. Next: repeat the command, or install PostgreSQL")
	}
	return unpack(jar, dir)
}

// platform returns operating system and architecture as the published builds name them.
func platform() (system, arch string) {
	arch = runtime.GOARCH
	if arch == "arm64" {
		arch = "arm64v8"
	}
	if _, err := os.Stat("/etc/alpine-release"); err == nil {
		arch += "-alpine"
	}
	return runtime.GOOS, arch
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("fetch PostgreSQL: %w", err)
	}
	unavailable := task.Errorf(task.CodeUnavailable, "PostgreSQL is not installed and cannot be downloaded. Next: "+
		"install PostgreSQL (Debian: apt-get install postgresql), or set DATABASE_URL, OMOI_DEV_POSTGRES_BIN or OMOI_DEV_POSTGRES_URL")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, unavailable.WithCause(err)
	}
	defer func() { _ = response.Body.Close() }() // the body was only read
	if response.StatusCode != http.StatusOK {
		return nil, unavailable.WithCause(fmt.Errorf("%s answered %s", url, response.Status))
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxDownload))
	if err != nil {
		return nil, unavailable.WithCause(err)
	}
	return content, nil
}

// unpack extracts the .txz of a jar into a temporary directory and renames that to dir.
func unpack(jar []byte, dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("unpack PostgreSQL: %w", err)
		}
	}()
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(archive.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, ".txz") })
	if at < 0 {
		return errors.New("the archive contains no .txz")
	}
	inner, err := archive.File[at].Open()
	if err != nil {
		return err
	}
	defer func() { _ = inner.Close() }() // the file was only read
	plain, err := xz.NewReader(inner, 0)
	if err != nil {
		return err
	}
	temp := dir + ".new"
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o755)); err != nil { //nolint:gosec // another user executes the programs
		return err
	}
	root, err := os.OpenRoot(temp)
	if err != nil {
		return err
	}
	if err := errors.Join(extract(tar.NewReader(plain), root), root.Close()); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// extract writes directories, files and symbolic links below root. [os.Root] refuses paths that lead outside.
func extract(archive *tar.Reader, root *os.Root) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = extractOne(archive, header, root)
		}
		if err != nil {
			return err
		}
	}
}

func extractOne(archive io.Reader, header *tar.Header, root *os.Root) error {
	name := filepath.Clean(header.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		return extractFile(archive, root, name, header.FileInfo().Mode().Perm()|0o444)
	}
	return nil
}

// extractFile holds ForkLock while the file is open: a forked child would hold the file open for writing until its
// exec, and Linux does not execute such a file (ETXTBSY).
func extractFile(archive io.Reader, root *os.Root, name string, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.LimitReader(archive, maxDownload))
	return errors.Join(err, file.Close())
}
