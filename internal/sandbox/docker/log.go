package docker

import (
	"context"
	"errors"
	"io"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Log opens the output of the started command from offset, in bytes, to where it ends now.
// Before the start, and past the end, it is empty.
func (p *Provider) Log(ctx context.Context, labels sandbox.Labels, offset int64) (io.ReadCloser, error) {
	found, err := p.find(ctx, labels)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, task.Invalid("offset", "a log begins at offset 0, not %d", offset)
	}
	raw, err := p.engine.ContainerLogs(ctx, found.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if cerrdefs.IsNotFound(err) {
		return nil, task.Errorf(task.CodeNotFound, "the sandbox was removed").WithCause(err)
	}
	if err != nil {
		return nil, engineError("read the log of a sandbox", err)
	}
	r, w := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(w, w, raw)
		w.CloseWithError(errors.Join(err, raw.Close()))
	}()
	log := &logged{PipeReader: r, raw: raw}
	if _, err := io.CopyN(io.Discard, log, offset); err != nil && !errors.Is(err, io.EOF) {
		_ = log.Close()
		return nil, engineError("read the log of a sandbox", err)
	}
	return log, nil
}

// logged is a log on its way.
type logged struct {
	*io.PipeReader

	raw io.Closer
}

// Close gives up the stream.
func (l *logged) Close() error { return errors.Join(l.PipeReader.Close(), l.raw.Close()) }
