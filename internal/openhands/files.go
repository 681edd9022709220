package openhands

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"time"
)

// Output is the end of a command.
type Output struct {
	ExitCode int    `json:"exit_code"` // -1: it was ended at its timeout, or its folder does not exist
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// Bash runs a command on the server's machine to its end, in a shell of its own.
func (c *Client) Bash(ctx context.Context, command, dir string, timeout time.Duration) (out Output, err error) {
	ask := map[string]any{"command": command, "timeout": max(1, int(timeout.Seconds()))}
	if dir != "" {
		ask["cwd"] = dir
	}
	return out, c.ask(ctx, call{method: http.MethodPost, path: "/api/bash/execute_bash_command", body: ask, timeout: timeout + readTimeout}, &out)
}

// Upload writes a file on the server's machine, and creates missing folders.
func (c *Client) Upload(ctx context.Context, file string, from io.Reader, timeout time.Duration) error {
	body, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		part, err := form.CreateFormFile("file", path.Base(file))
		if err == nil {
			_, err = io.Copy(part, from)
		}
		if err == nil {
			err = form.Close()
		}
		_ = w.CloseWithError(err)
	}()
	defer func() { _ = body.Close() }()
	return c.do(ctx, call{
		method: http.MethodPost, path: "/api/file/upload", query: url.Values{"path": {file}}, raw: body, media: form.FormDataContentType(), timeout: timeout,
	})
}

// Download opens a file of the server's machine. The caller closes it. A server that sends nothing for readTimeout ends the download.
func (c *Client) Download(ctx context.Context, file string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	limit := time.AfterFunc(readTimeout, cancel)
	resp, err := c.send(ctx, call{method: http.MethodGet, path: "/api/file/download", query: url.Values{"path": {file}}}) //nolint:bodyclose // the caller closes the download
	limit.Stop()
	if err != nil {
		cancel()
		return nil, err
	}
	return &download{resp.Body, limit, cancel}, nil
}

// download is the content of a file.
type download struct {
	io.ReadCloser

	limit  *time.Timer // of one read: it cancels the request
	cancel context.CancelFunc
}

func (d *download) Read(to []byte) (int, error) {
	d.limit.Reset(readTimeout)
	defer d.limit.Stop()
	return d.ReadCloser.Read(to)
}

func (d *download) Close() error {
	defer d.cancel()
	return d.ReadCloser.Close()
}
