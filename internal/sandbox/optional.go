package sandbox

import (
	"context"
	"io"
	"time"
)

// DiskKeeper is a [Provider] whose sandboxes can hold more than their disk unless somebody counts.
type DiskKeeper interface {
	// KeepDisks ends what runs in sandboxes of an installation that hold more; [Inspection].DiskFull says so of
	// them then. It is to be called about once a second, and counts when it is time.
	KeepDisks(ctx context.Context, installation string) error
}

// Pruner is a [Provider] that keeps tombstones of deleted sandboxes.
type Pruner interface {
	// Prune removes tombstones that are 30 days old at now, of many no more than a part. It is to be called each hour.
	Prune(now time.Time) error
}

// Reacher is a [Provider] whose sandboxes may find the API elsewhere than at its address.
type Reacher interface {
	// APIURL is how a program inside reaches the API that listens at configured, and in
	// sandboxes that have its socket at socket. It asks nobody.
	APIURL(want Network, configured, socket string) string
}

// Exec runs a short command beside the agent, or after it has ended, and keeps what it says, up to a
// bound. Errors: those of [Provider.Attach].
func Exec(ctx context.Context, p Provider, labels Labels, cmd Command) (ExecResult, error) {
	var out, errs Output
	code, err := p.Attach(ctx, labels, cmd, Streams{Stdin: cmd.Stdin, Stdout: &out, Stderr: &errs})
	return ExecResult{ExitCode: code, Stdout: out.Bytes(), Stderr: errs.Bytes()}, err
}

// Streams are those of a person, or of [Exec].
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal is set where the command shall have a terminal of its own; Stderr is not used then.
	Terminal *Terminal
}

// Terminal is the size of a person's terminal, now and as it changes.
type Terminal struct {
	Size    Size
	Resized <-chan Size // nil: it stays
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

// Size of a terminal, in characters.
type Size struct{ Rows, Columns uint16 }

// ShellArgs is a shell for a person. Where it has no terminal of its own yet, and setsid is there, it takes the one
// at its standard input, so that Ctrl-C ends what runs in it and not the shell.
func ShellArgs() []string {
	return []string{"sh", "-c", `s=$(command -v bash || command -v sh); if ! (: </dev/tty) 2>/dev/null && command -v setsid >/dev/null; then exec setsid -c -w "$s" -i; fi; exec "$s" -i`}
}

// Freezer is a [Provider] that can stop all programs in its sandboxes and let them continue later.
type Freezer interface {
	// Freeze stops every program in the sandboxes of an installation, and refuses to start others
	// until Thaw. It returns in how many sandboxes programs ran. It is safe to repeat.
	Freeze(ctx context.Context, installation string) (sandboxes int, err error)
	// Thaw lets the programs that Freeze stopped continue, also those that another process stopped.
	// It returns in how many sandboxes programs were stopped.
	Thaw(ctx context.Context, installation string) (sandboxes int, err error)
}
