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

// ServerConfig says how a server listens. Zero durations mean the defaults.
type ServerConfig struct {
	Addr string // host:port; port 0 takes a free one
	// Open refuses addresses that other machines can reach.
	Open        bool
	StopTimeout time.Duration // for requests under way when the server stops; default 10 s
}

// Server serves a handler until it is told to stop.
type Server struct {
	cfg      ServerConfig
	listener net.Listener
	http     *http.Server
	log      *slog.Logger
}

// Listen binds the address at once, so that [Server.Addr] is known before anything runs.
// An address that is taken or not allowed is [task.CodeInvalid] with the next step.
func Listen(ctx context.Context, cfg ServerConfig, handler http.Handler, log *slog.Logger) (*Server, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if cfg.StopTimeout == 0 {
		cfg.StopTimeout = 10 * time.Second
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, task.Invalid("api.port", "The address %s cannot be listened on; choose another port, 0 takes a free one.", cfg.Addr).WithCause(err)
	}
	if cfg.Open && !isLoopback(listener.Addr()) {
		return nil, errors.Join(task.Invalid("api.host",
			"A server without login may listen on loopback only, not on %s. Use 127.0.0.1, or make keys and leave open off.", cfg.Addr), listener.Close())
	}
	return &Server{cfg: cfg, listener: listener, http: newHTTPServer(handler, log), log: log}, nil
}

func newHTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	const maxHeader = 64 << 10
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       90 * time.Second, // beyond the longest long poll: it would end one
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Run serves until ctx ends, ends the long polls, and lets the other requests under way
// finish. It is called once.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve the API: %w", err)
	case <-ctx.Done():
	}
	if stopper, ok := s.http.Handler.(interface{ Stop() }); ok {
		stopper.Stop()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.StopTimeout)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil {
		s.log.WarnContext(ctx, "requests were cut off", slog.Any("error", err))
		return errors.Join(s.http.Close(), ignoreClosed(<-served))
	}
	return ignoreClosed(<-served)
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
