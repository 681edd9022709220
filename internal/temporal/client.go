package temporal

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
)

// Config says where Temporal is and how it is used. The zero value works with a server of
// one's own machine.
type Config struct {
	HostPort  string // default localhost:7233
	Namespace string // default "default"
	TLS       *tls.Config
	APIKey    string // of Temporal Cloud; implies TLS
	// Interceptors stand around every call: tracing, metrics.
	Interceptors []interceptor.ClientInterceptor
	Metrics      client.MetricsHandler // may be nil

	CallTimeout  time.Duration // of one call that has no shorter bound; default 10 s
	ReaperPeriod time.Duration // default 60 s

	GuardianPeriod time.Duration // default 60 s
	GuardianOff    bool          // its schedule and the conductor's are paused

	ConductorPeriod time.Duration // default 300 s
	RetentionPeriod time.Duration // default 1 h
}

// Client is a connection to one namespace of a Temporal server. It is safe for concurrent use.
type Client struct {
	cfg        Config
	sdk        client.Client
	log        *slog.Logger
	attributes atomic.Bool // ours are registered
}

// Dial makes a client. It does not wait for the server: what omoi accepts is carried out
// once Temporal answers. [Client.Check] tells whether it does. log may be nil.
func Dial(cfg Config, logger *slog.Logger) (*Client, error) {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	options := client.Options{
		HostPort: cfg.HostPort, Namespace: cfg.Namespace,
		Logger: quiet{log.NewStructuredLogger(logger)}, MetricsHandler: cfg.Metrics, Interceptors: cfg.Interceptors,
		ConnectionOptions: client.ConnectionOptions{TLS: cfg.TLS, DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(callBounds()...)}},
	}
	if cfg.APIKey != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(cfg.APIKey)
	}
	sdk, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("create a Temporal client for %s: %w", cfg.HostPort, err)
	}
	return New(cfg, sdk, logger), nil
}

// quiet logs at level debug what the SDK logs at level info.
type quiet struct{ log.Logger }

// Info implements [log.Logger].
func (q quiet) Info(message string, keyvals ...any) { q.Debug(message, keyvals...) }

// Error implements [log.Logger]. The activities log their own failures, which Temporal retries.
func (q quiet) Error(message string, keyvals ...any) {
	if message == "Activity error." {
		q.Debug(message, keyvals...)
		return
	}
	q.Logger.Error(message, keyvals...)
}

// New makes a client on a connection that exists; [Client.Close] closes it.
func New(cfg Config, sdk client.Client, logger *slog.Logger) *Client {
	cfg.Namespace = cmp.Or(cfg.Namespace, client.DefaultNamespace)
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, 10*time.Second)
	cfg.ReaperPeriod = cmp.Or(cfg.ReaperPeriod, time.Minute)
	cfg.GuardianPeriod = cmp.Or(cfg.GuardianPeriod, time.Minute)
	cfg.ConductorPeriod = cmp.Or(cfg.ConductorPeriod, 5*time.Minute)
	cfg.RetentionPeriod = cmp.Or(cfg.RetentionPeriod, time.Hour)
	return &Client{cfg: cfg, sdk: sdk, log: cmp.Or(logger, slog.New(slog.DiscardHandler))}
}

// SDK is the connection itself, for workers.
func (c *Client) SDK() client.Client { return c.sdk }

// Close closes the connection.
func (c *Client) Close() { c.sdk.Close() }

// Check reports whether the server answers from its store, which its gRPC health never reads:
// nil, or [task.CodeUnavailable].
func (c *Client) Check(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.namespaceOwner(ctx)
	return err
}

// bounded gives a call its longest duration.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.cfg.CallTimeout)
}
