package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"
)

// looked is the number of bytes in which git looks for a zero byte, which makes a file binary.
const looked = 8000

// content reads a piece of the content of a file.
func (o *objects) content(ctx context.Context, out *File, q FileQuery) error {
	f, err := o.blob(ctx, out.Object)
	if errors.Is(err, errTooLarge) {
		return tooLarge("File %q has more than %d bytes.", clip(q.Path), maxFile)
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read a file of the task: %w", err)
	}
	first, err := pieceOf(f, 0, looked)
	if err != nil {
		return err
	}
	if out.TotalBytes, out.Binary = int(info.Size()), slices.Contains(first, 0); out.Binary {
		return nil
	}
	piece, err := pieceOf(f, q.Offset, q.Limit+utf8.UTFMax)
	if err == nil {
		out.cut(piece, q)
	}
	return err
}

// cut adds a piece of the content, which is a little longer than the query asks. It begins and ends with whole characters.
func (f *File) cut(piece []byte, q FileQuery) {
	begin := 0
	for begin < min(len(piece), utf8.UTFMax-1) && !utf8.RuneStart(piece[begin]) {
		begin++
	}
	f.OffsetBytes = min(q.Offset, f.TotalBytes) + begin
	piece = piece[begin:min(begin+q.Limit, len(piece))]
	if f.OffsetBytes+len(piece) < f.TotalBytes {
		piece = wholeRunes(piece)
		f.NextOffset = new(f.OffsetBytes + len(piece))
	}
	f.InvalidUTF8, f.Text = !utf8.Valid(piece), text(string(piece))
}

// pieceOf returns at most the given number of bytes from an offset on.
func pieceOf(f *os.File, offset, most int) ([]byte, error) {
	piece := make([]byte, most)
	n, err := f.ReadAt(piece, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read a file of the task: %w", err)
	}
	return piece[:n], nil
}

// blob opens the content of a file, which stays on disk for the next pieces of the same file. errTooLarge: it has more than maxFile bytes.
func (o *objects) blob(ctx context.Context, object string) (*os.File, error) {
	path := filepath.Join(o.dir, "blob")
	if o.written == object {
		if f, err := os.Open(path); err == nil { // a cleaner of temporary folders may have removed it
			return f, nil
		}
	}
	o.written = ""
	size, err := o.git(ctx, "cat-file", "-s", object)
	if n, _ := strconv.ParseInt(size, 10, 64); err == nil && n > maxFile {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("store a file of the task: %w", err)
	}
	if err := o.pipe(ctx, nil, f, "cat-file", "blob", object); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o.written = object
	return f, nil
}
