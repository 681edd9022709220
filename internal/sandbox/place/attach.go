package place

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Files in the folder of an attached command. Its input is in files of the names 0, 1, and so on.
const (
	fileOut   = "out"
	fileErrs  = "errs"
	fileEnd   = "end"
	fileFed   = "fed"
	fileStop  = "stop"
	fileLease = "lease" // lock of the process that runs the command
	fileAsked = "asked" // time of the last call
)

const (
	tick    = 20 * time.Millisecond
	patient = time.Second     // how long More waits for news
	lease   = 2 * time.Minute // after the last call, the command ends: its caller has died
)

// fed is what the caller has told of the input.
type fed struct {
	Files int          `json:"files"`
	Shut  bool         `json:"shut"`
	Size  sandbox.Size `json:"size"`
}

// end is the end of an attached command.
type end struct {
	Code  int    `json:"code"`
	Fault *Fault `json:"fault"`
}

func (r Request) file(name string) string { return filepath.Join(r.Run, name) }

// attach runs the command to its end, with its streams in files, once.
func (r Request) attach(ctx context.Context, p *local.Provider) error {
	held, err := fence.TryLock(r.file(fileLease))
	if err != nil || held == nil {
		return err
	}
	defer func() { _ = held.Close() }()
	code, err := r.run(ctx, p)
	return statefile.Save(r.file(fileEnd), end{Code: code, Fault: faultOf(err)})
}

func (r Request) run(ctx context.Context, p *local.Provider) (code int, err error) {
	out, err := os.Create(r.file(fileOut))
	if err != nil {
		return -1, err
	}
	defer func() { _ = out.Close() }()
	errs, err := os.Create(r.file(fileErrs))
	if err != nil {
		return -1, err
	}
	defer func() { _ = errs.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.asked()
	sizes := make(chan sandbox.Size, 1)
	in, typed := io.Pipe()
	defer func() { _ = in.Close() }()
	go r.follow(ctx, cancel, typed, sizes)
	streams := sandbox.Streams{Stdin: in, Stdout: out, Stderr: errs}
	if r.Command.Terminal {
		streams.Terminal = &sandbox.Terminal{Size: r.Size, Resized: sizes}
	}
	return p.Attach(ctx, r.Labels, r.command(), streams)
}

// follow passes input and sizes on, until the caller stops the command or has died.
func (r Request) follow(ctx context.Context, cancel context.CancelFunc, typed *io.PipeWriter, sizes chan<- sandbox.Size) {
	defer cancel()
	fresh := make(chan fed, 1)
	go r.pass(ctx, fresh, typed)
	for last := (fed{Size: r.Size}); wait.For(ctx, tick) == nil && !r.left(); {
		var now fed
		if !statefile.Load(r.file(fileFed), &now) || now == last {
			continue
		}
		if now.Size != last.Size {
			select {
			case sizes <- now.Size:
			default: // the command takes no sizes any more
			}
		}
		select {
		case <-fresh: // an older one that was not taken
		default:
		}
		fresh <- now
		last = now
	}
}

// left reports whether the caller has stopped the command, or has died.
func (r Request) left() bool {
	_, err := os.Stat(r.file(fileStop))
	info, gone := os.Stat(r.file(fileAsked))
	return err == nil || gone != nil || time.Since(info.ModTime()) > lease
}

// pass writes the files of the input in their order.
func (r Request) pass(ctx context.Context, fresh <-chan fed, to *io.PipeWriter) {
	for at := 0; ; {
		var now fed
		select {
		case now = <-fresh:
		case <-ctx.Done():
			_ = to.Close()
			return
		}
		for ; at < now.Files; at++ {
			text, err := os.ReadFile(r.file(strconv.Itoa(at)))
			if err == nil {
				_, err = to.Write(text)
			}
			if err != nil {
				_ = to.CloseWithError(err)
				return
			}
		}
		if now.Shut {
			_ = to.Close()
			return
		}
	}
}

// asked notes that the caller lives.
func (r Request) asked() {
	now := time.Now()
	if os.Chtimes(r.file(fileAsked), now, now) != nil {
		_ = os.WriteFile(r.file(fileAsked), nil, 0o600)
	}
}

// feed notes what the caller tells of the input.
func (r Request) feed() error {
	r.asked()
	return statefile.Save(r.file(fileFed), fed{Files: r.Fed, Shut: r.Shut, Size: r.Size})
}

// more stores the output after what is known. It waits a moment for some.
func (r Request) more(ctx context.Context) (a Answer, err error) {
	r.asked()
	for begun := time.Now(); ; {
		var e end
		over := statefile.Load(r.file(fileEnd), &e) // before the output, which it follows
		out, err := after(r.file(fileOut), r.Out)
		errs, also := after(r.file(fileErrs), r.Errs)
		switch err := errors.Join(err, also); {
		case err != nil:
			return a, err
		case len(out)+len(errs) > 0:
			return Answer{Out: int64(len(out)), Errs: int64(len(errs))}, os.WriteFile(r.File, append(out, errs...), 0o600)
		case over:
			return Answer{Over: true, Code: e.Code}, Answer{Fault: e.Fault}.Err()
		case time.Since(begun) > patient:
			return a, nil
		}
		if err := wait.For(ctx, tick); err != nil {
			return a, err
		}
	}
}

const piece = 1 << 20 // bytes of one output in one answer

// after returns the next bytes of a file. A file that does not exist yet is empty.
func after(name string, offset int64) ([]byte, error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.NewSectionReader(file, offset, piece))
}

// leave ends the command, waits for its end, and removes its folder.
func (r Request) leave(ctx context.Context) error {
	if _, err := os.Stat(r.Run); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.WriteFile(r.file(fileStop), nil, 0o600); err != nil {
		return task.Errorf(task.CodeUnavailable, "the command cannot be stopped").WithCause(err)
	}
	held, err := fence.Lock(ctx, r.file(fileLease))
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	return os.RemoveAll(r.Run)
}
