package daytona

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// file is a file to upload. Its content is read once.
type file struct {
	path    string
	content io.Reader
}

// upload writes files in one streamed request; the server creates missing folders. upload returns the number of bytes
// sent of the last file.
func (t *toolbox) upload(ctx context.Context, files ...file) (int64, error) {
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	req, err := t.raw(ctx, http.MethodPost, "/files/bulk-upload", r)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	var n int64
	sent := make(chan error, 1)
	go func() {
		var err error
		n, err = writeForm(form, files)
		w.CloseWithError(err) // always nil; the reader gets err or io.EOF
		sent <- err
	}()
	resp, err := t.send(req, "write files into the sandbox")
	err = undecided(err)
	_ = r.CloseWithError(context.Canceled) // ends a writer without a reader
	given := <-sent
	if err == nil {
		closeBody(resp)
		return n, given
	}
	if given != nil && !errors.Is(given, context.Canceled) {
		err = errors.Join(given, err) // the content of the caller could not be read
	}
	return 0, err
}

// writeForm writes each path before its file, as the daemon requires.
func writeForm(form *multipart.Writer, files []file) (n int64, err error) {
	for i, f := range files {
		name := fmt.Sprintf("files[%d]", i)
		if err := form.WriteField(name+".path", f.path); err != nil {
			return 0, err
		}
		part, err := form.CreateFormFile(name+".file", path.Base(f.path))
		if err != nil {
			return 0, err
		}
		if n, err = io.Copy(part, f.content); err != nil {
			return 0, err
		}
	}
	return n, form.Close()
}

// download opens a file of the sandbox at offset. The caller closes it.
func (t *toolbox) download(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	req, err := t.raw(ctx, http.MethodGet, "/files/download?path="+url.QueryEscape(name), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := t.send(req, "read "+name+" in the sandbox")
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, resp.Body, offset); err != nil && !errors.Is(err, io.EOF) {
		_ = resp.Body.Close()
		return nil, classify("read "+name+" in the sandbox", nil, err)
	}
	return resp.Body, nil
}

// locate returns the path of a file below one of the places.
func locate(name string) (string, error) {
	tree, rel, err := places.Locate(name)
	return tree + "/" + rel, err
}

// Exit codes of the file scripts.
const (
	endAbsent  = 2
	endHostile = 3
	endShort   = 4
)

// WriteFile implements [sandbox.Provider]. WriteFile uploads to a temporary file, checks the size, and renames the
// file.
func (p *Provider) WriteFile(ctx context.Context, labels sandbox.Labels, name string, mode uint32, r io.Reader) error {
	name, err := locate(name)
	if err != nil {
		return err
	}
	tb, err := p.inside(ctx, labels)
	if err != nil {
		return err
	}
	fresh := dirTmp + "/" + rand.Text()
	size, err := tb.upload(ctx, file{fresh, r})
	if err != nil {
		// The deletion of the sandbox also removes the partial file.
		_, _ = tb.script(context.WithoutCancel(ctx), scriptRemove, fresh)
		return fmt.Errorf("write %s: %w", name, err)
	}
	got, err := tb.script(ctx, scriptPlace, fresh, name, strconv.FormatUint(uint64(mode&0o777), 8), strconv.FormatInt(size, 10))
	if err != nil {
		return fmt.Errorf("put %s in place: %w", name, err)
	}
	return fileError(got, "write", name)
}

// ReadFile implements [sandbox.Provider].
func (p *Provider) ReadFile(ctx context.Context, labels sandbox.Labels, name string) (io.ReadCloser, error) {
	name, err := locate(name)
	if err != nil {
		return nil, err
	}
	tb, err := p.inside(ctx, labels)
	if err != nil {
		return nil, err
	}
	return tb.open(ctx, name, 0)
}

// open reads a file from offset. If more than [inlineBytes] follow, open downloads the file from its start and skips
// offset bytes.
func (t *toolbox) open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	got, err := t.script(ctx, scriptRead, name, strconv.Itoa(inlineBytes), strconv.FormatInt(offset, 10))
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	if err := fileError(got, "read", name); err != nil {
		return nil, err
	}
	if target, ok := strings.CutPrefix(got.text, "at "); ok {
		return t.download(ctx, target, offset)
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(strings.TrimPrefix(got.text, "inline")))
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "cannot read %s from the sandbox: %s", name, cut(got.text)).WithCause(err)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// inlineBytes is the maximum size that the script returns inline, in one call.
const inlineBytes = 256 << 10

func fileError(got said, doing, name string) error {
	switch got.code {
	case 0:
		return nil
	case endAbsent:
		return task.Errorf(task.CodeNotFound, "file %s not found in the sandbox", name)
	case endHostile:
		return task.Invalid("path", "cannot %s %s in the sandbox: the path is not a regular file below the folders of the sandbox", doing, name)
	case endShort:
		return task.Errorf(task.CodeUnavailable, "%s was not completely written to the sandbox", name)
	}
	return task.Errorf(task.CodeUnavailable, "the sandbox could not %s %s: %s", doing, name, cut(got.text))
}

// Log implements [sandbox.Provider].
func (p *Provider) Log(ctx context.Context, labels sandbox.Labels, offset int64) (io.ReadCloser, error) {
	if offset < 0 {
		return nil, task.Invalid("offset", "the offset of a log must be 0 or more, not %d", offset)
	}
	tb, err := p.inside(ctx, labels)
	if err != nil {
		return nil, err
	}
	r, err := tb.open(ctx, fileLog, offset)
	if task.CodeOf(err) == task.CodeNotFound {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return r, err
}
