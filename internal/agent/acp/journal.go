package acp

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// Journal is how omoi follows the sessions of a program that keeps them in a database, which no one else can read while
// the program writes.
type Journal struct {
	// Serve returns the arguments and variables with which the program tells changes of its sessions.
	Serve func(from Teller) (args []string, more Vars)
	// Follow adds the changes of a session to the file with a path, and returns when the program tells no more. It calls
	// ready when no further change can be missed.
	Follow func(ctx context.Context, from Teller, path string, ready func()) error
	// Import returns the arguments with which the program takes the session of a file. It may write a file itself.
	Import func(path, to string) (args []string, err error)
}

// Teller is a program that tells changes of a session.
type Teller struct {
	Port    int    // of this machine
	Secret  string // without which the program tells nothing
	Work    string // workspace
	Session string
}

// Times of a journal.
const (
	followWait  = 2 * time.Second // for the last changes of an ended program
	followAgain = time.Second     // until the next try after a lost connection
)

// start returns the command of the program, and its environment.
func (t *talk) start() (args []string, environ Vars, err error) {
	args, err = t.Dialect.command(t.path)
	if err != nil || t.Dialect.Journal == nil {
		return args, t.environ, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return nil, nil, fmt.Errorf("find a free port: %w", err)
	}
	address, _ := free.Addr().(*net.TCPAddr)
	_ = free.Close()
	t.teller = Teller{Port: address.Port, Secret: rand.Text(), Work: t.where.Work}
	more, vars := t.Dialect.Journal.Serve(t.teller)
	return append(args, more...), set(t.environ, vars), nil
}

// follow adds the changes of the session to its file until the program ends. Without that, the next attempt in another
// sandbox begins with a summary.
func (t *talk) follow(ctx context.Context) {
	if t.Dialect.Journal == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, over, conn := make(chan struct{}, 1), make(chan struct{}), t.conn
	from := t.teller
	from.Session = t.place.SessionID
	_, path := t.Dialect.Session(t.where, from.Session)
	go func() {
		defer close(over)
		for !conn.over() {
			if err := t.Dialect.Journal.Follow(ctx, from, path, func() { signal(ready) }); err != nil && ctx.Err() == nil {
				t.Env.Log.WarnContext(ctx, "follow session failed, retrying", slog.Any("error", err))
			}
			signal(ready)
			select {
			case <-conn.Drained:
			case <-ctx.Done():
				return
			case <-time.After(followAgain):
			}
		}
	}()
	t.unfollow = func() {
		select {
		case <-over:
		case <-time.After(followWait):
		}
		cancel()
		<-over
	}
	select {
	case <-ready:
	case <-time.After(t.Patience):
	case <-ctx.Done():
	}
}

// signal sends once, and does not wait.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// takes gives the session of a file to a program that keeps sessions elsewhere.
func (t *talk) takes(ctx context.Context, env agent.Env, path string) error {
	if t.Dialect.Journal == nil {
		return nil
	}
	args, err := t.Dialect.Journal.Import(path, path+".import")
	if err != nil {
		return err
	}
	res, err := env.Procs.Run(ctx, proc.Command{
		Args: append([]string{t.path}, args...), Dir: t.where.Work, Env: agent.Environ(t.environ), Timeout: t.Patience,
	})
	switch {
	case err != nil:
		return err
	case res.ExitCode != 0:
		return fmt.Errorf("%s does not take the session: %s", t.Dialect.Title, textcut.Last(res.Output, resultBytes))
	}
	return nil
}
