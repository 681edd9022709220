package sandbox

import (
	"context"
	"io"
	"time"
)

// DiskKeeper is a [Provider] without disk quotas, so that disk usage must be measured.
type DiskKeeper interface {
	// KeepDisks ends the programs in the installation's sandboxes that exceed their disk limit; [Inspection].DiskFull
	// then says so. The caller calls it about once a second, and KeepDisks decides when to measure.
	KeepDisks(ctx context.Context, installation string) error
}

// Pruner is a [Provider] that keeps tombstones of deleted sandboxes.
type Pruner interface {
	// Prune removes tombstones that are 30 days old at now, a limited number per call. The caller calls it each hour.
	Prune(now time.Time) error
}

// Reacher is a [Provider] whose sandboxes may reach the API at another address than the configured one.
type Reacher interface {
	// APIURL returns the address of the API for a program in a sandbox. The API listens at configured, and at socket in
	// sandboxes with its socket. APIURL makes no request.
	APIURL(want Network, configured, socket string) string
}

// Exec runs a short command beside the agent, or after its end, and returns its output up to a limit. Errors are those
// of [Provider.Attach].
func Exec(ctx context.Context, p Provider, labels Labels, cmd Command) (ExecResult, error) {
	var out, errs Output
	code, err := p.Attach(ctx, labels, cmd, Streams{Stdin: cmd.Stdin, Stdout: &out, Stderr: &errs})
	return ExecResult{ExitCode: code, Stdout: out.Bytes(), Stderr: errs.Bytes()}, err
}

// Streams are the streams of a user's terminal, or of [Exec].
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal is set if the command needs a terminal. Stderr is then unused.
	Terminal *Terminal
}

// Terminal is the size of a user's terminal, with its changes.
type Terminal struct {
	Size    Size
	Resized <-chan Size // nil: the size does not change
}

// Follow calls set with each new size until ctx ends.
func (t *Terminal) Follow(ctx context.Context, set func(Size)) {
	for {
		select {
		case size, more := <-t.Resized:
			if !more {
				return
			}
			set(size)
		case <-ctx.Done():
			return
		}
	}
}

// Size is the size of a terminal in characters.
type Size struct{ Rows, Columns uint16 }

// ShellArgs returns the command of an interactive shell. If the sandbox has setsid, the shell makes its standard input
// its controlling terminal, so that Ctrl-C ends the program in the shell and not the shell.
func ShellArgs() []string {
	return []string{"sh", "-c", `s=$(command -v bash || command -v sh); if ! (: </dev/tty) 2>/dev/null && command -v setsid >/dev/null; then exec setsid -c -w "$s" -i; fi; exec "$s" -i`}
}

// Freezer is a [Provider] that can stop all programs in its sandboxes and let them continue later.
type Freezer interface {
	// Freeze stops every program in the installation's sandboxes and refuses new ones until Thaw. It returns the number
	// of sandboxes with programs. It may be repeated.
	Freeze(ctx context.Context, installation string) (sandboxes int, err error)
	// Thaw continues stopped programs, also those that another process stopped. It returns the number of sandboxes with
	// stopped programs.
	Thaw(ctx context.Context, installation string) (sandboxes int, err error)
}
