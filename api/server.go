package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Serve serves HTTP on every listener until ctx ends. Then all long polls end at once, and other running requests have
// up to grace to finish. Serve closes the listeners.
//
// Serve returns [task.CodeInvalid] and serves nothing if authentication is disabled and other hosts can reach a
// listener.
func Serve(ctx context.Context, a *API, listeners []net.Listener, grace time.Duration) error {
	if err := a.allowed(listeners); err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	server := a.server(ctx)
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { served <- server.Serve(l) }()
	}
	var failed error
	running := len(listeners)
	select {
	case err := <-served:
		running--
		failed = fmt.Errorf("serve the API: %w", err)
	case <-ctx.Done():
	}
	a.Stop()
	err := a.shutdown(ctx, server, grace)
	for range running {
		failed = errors.Join(failed, unlessClosed(<-served)) // each returns once the server is shut down
	}
	return errors.Join(failed, err)
}

// unlessClosed drops the error of an intended shutdown.
func unlessClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (a *API) server(ctx context.Context) *http.Server {
	const maxHeader = 64 << 10
	return &http.Server{
		Handler:           a,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       a.cfg.MaxWait + time.Minute, // longer than any long poll
		WriteTimeout:      a.cfg.MaxWait + 2*time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // broken connections are normal
	}
}

// shutdown waits for running requests, and closes those that take longer than grace.
func (a *API) shutdown(ctx context.Context, server *http.Server, grace time.Duration) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		cut := task.Errorf(task.CodeInternal,
			"cannot finish all API requests within %s: requests under way were cut off. Next: send these requests again", grace)
		return errors.Join(cut.WithCause(err), server.Close())
	}
	a.awaitStreams(limited)
	return nil
}

func (a *API) allowed(listeners []net.Listener) error {
	for _, l := range listeners {
		if a.cfg.Open && !isLoopback(l.Addr()) {
			return task.Invalid("api.host",
				"Cannot listen on %s: with authentication disabled, a server listens on loopback only. Next: use 127.0.0.1, or create "+
					"API keys and set api.auth_disabled to false", l.Addr())
		}
	}
	return nil
}

func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
