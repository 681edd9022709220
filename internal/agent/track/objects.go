package track

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the hash of git
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// objects reads trees of a repository and writes loose objects to it.
type objects struct {
	dir  string
	cat  *helper
	hash func() hash.Hash
	zip  *zlib.Writer
}

// openObjects takes the length of an object ID, which tells the hash.
func openObjects(git gitcmd.Git, length int) (*objects, error) {
	o := &objects{dir: filepath.Join(git.GitDir, "objects"), hash: sha1.New}
	if length == 2*sha256.Size {
		o.hash = sha256.New
	}
	o.cat = newHelper(git, "-c", "core.packedGitWindowSize=1m", "-c", "core.packedGitLimit=8m", "-c", "core.deltaBaseCacheLimit=1m",
		"cat-file", "--batch")
	zip, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	o.zip = zip
	left, _ := filepath.Glob(filepath.Join(o.dir, unfinished))
	for _, path := range left { // by a killed process
		_ = os.Remove(path)
	}
	return o, err
}

// unfinished is the pattern of names of unfinished objects. git gc removes files with such names.
const unfinished = "tmp_obj_track_*"

// load returns the content of an object.
func (o *objects) load(ctx context.Context, id string) (content string, err error) {
	err = o.loadAll(ctx, []string{id}, func(_ int, of string) error {
		content = of
		return nil
	})
	return content, err
}

// loadAll calls visit with the content of each object in order. One question for many objects takes a fraction of the time of many questions.
func (o *objects) loadAll(ctx context.Context, ids []string, visit func(i int, content string) error) error {
	return o.cat.ask(ctx, strings.Join(ids, "\n")+"\n", func(out *bufio.Reader) error {
		for i := range ids {
			content, err := nextObject(out)
			if err == nil {
				err = visit(i, content)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// nextObject reads the content of the next object.
func nextObject(out *bufio.Reader) (string, error) {
	head, err := out.ReadString('\n')
	if err != nil {
		return "", err
	}
	fields := strings.Fields(head)
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return "", fmt.Errorf("object %s", strings.TrimSpace(head))
	}
	b := make([]byte, size+1) // and a line break
	_, err = io.ReadFull(out, b)
	return string(b[:size]), err
}

// store returns the ID of an object, and writes the object unless its ID is known or the object exists.
func (o *objects) store(kind string, size int64, content io.ReadSeeker, known string) (id string, err error) {
	id, err = o.copy(io.Discard, kind, size, content)
	if err != nil || id == known {
		return id, err
	}
	if _, err := os.Lstat(o.path(id)); err == nil {
		return id, nil
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read content again: %w", err)
	}
	f, err := os.CreateTemp(o.dir, unfinished)
	if err != nil {
		return "", fmt.Errorf("write object: %w", err)
	}
	o.zip.Reset(f)
	id, err = o.copy(o.zip, kind, size, content) // another ID, if the content changed
	err = errors.Join(err, o.zip.Close(), f.Chmod(0o444), f.Close())
	if err == nil {
		err = place(f.Name(), o.path(id))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return id, err
}

// Store writes an object and returns its ID.
func (t *Tracker) Store(ctx context.Context, kind, content string) (string, error) {
	if err := t.lock(ctx); err != nil {
		return "", err
	}
	defer t.unlock()
	return t.objects.store(kind, int64(len(content)), strings.NewReader(content), "")
}

// TreeOf returns the tree of a commit.
func (t *Tracker) TreeOf(ctx context.Context, commit string) (string, error) {
	if err := t.lock(ctx); err != nil {
		return "", err
	}
	defer t.unlock()
	content, err := t.objects.load(ctx, commit)
	first, _, _ := strings.Cut(content, "\n")
	return strings.TrimPrefix(first, "tree "), err
}

// copy writes an object with its header and returns its ID.
func (o *objects) copy(to io.Writer, kind string, size int64, content io.Reader) (id string, err error) {
	sum := o.hash()
	both := io.MultiWriter(sum, to)
	fmt.Fprintf(both, "%s %d\x00", kind, size)
	if _, err := io.CopyN(both, content, size); err != nil {
		return "", fmt.Errorf("write object: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (o *objects) path(id string) string { return filepath.Join(o.dir, id[:2], id[2:]) }

func place(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fmt.Errorf("place object: %w", err)
		}
		err = os.Rename(from, to)
	}
	if err != nil {
		return fmt.Errorf("place object: %w", err)
	}
	return nil
}

func unhex(id string) string {
	b, _ := hex.DecodeString(id)
	return string(b)
}
