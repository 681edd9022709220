package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

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
	log := &frames{from: raw}
	if _, err := io.CopyN(io.Discard, log, offset); err != nil && !errors.Is(err, io.EOF) {
		_ = raw.Close()
		return nil, engineError("read the log of a sandbox", err)
	}
	return log, nil
}

// frames reads what the engine wraps in frames of one stream each.
type frames struct {
	from io.ReadCloser
	left int64
}

const frameHead = 8 // kind, three zeros, length

// systemError is the kind of a frame in which the engine says what went wrong.
const systemError = 3

// Read gives the content of the frames.
func (f *frames) Read(b []byte) (int, error) {
	for f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if int64(len(b)) > f.left {
		b = b[:f.left]
	}
	n, err := f.from.Read(b)
	f.left -= int64(n)
	if errors.Is(err, io.EOF) && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (f *frames) next() error {
	var head [frameHead]byte
	if _, err := io.ReadFull(f.from, head[:]); err != nil {
		return err
	}
	f.left = int64(binary.BigEndian.Uint32(head[4:]))
	if head[0] == systemError {
		text, _ := io.ReadAll(io.LimitReader(f.from, min(f.left, 1<<10)))
		return fmt.Errorf("the docker engine stopped the log: %s", text)
	}
	return nil
}

// Close gives up the stream.
func (f *frames) Close() error { return f.from.Close() }
