package temporal

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
)

// Config holds the address of the Temporal server and how omoi uses it. The zero value is a local server.
type Config struct {
	HostPort  string // default localhost:7233
	Namespace string // default "default"
	TLS       *tls.Config
	APIKey    string // API key of Temporal Cloud; implies TLS
	// Interceptors wrap each call, for tracing and metrics.
	Interceptors []interceptor.ClientInterceptor
	Metrics      client.MetricsHandler // may be nil

	CallTimeout  time.Duration // maximum duration of a call without a shorter deadline; default 10 s
	ReaperPeriod time.Duration // default 60 s

	GuardianPeriod time.Duration // default 60 s
	GuardianOff    bool          // pauses the schedules of guardian and conductor

	ConductorPeriod time.Duration // default 300 s
	RetentionPeriod time.Duration // default 1 h
}

// Client is a connection to one namespace of a Temporal server. It is safe for concurrent use.
type Client struct {
	cfg        Config
	sdk        client.Client
	log        *slog.Logger
	attributes atomic.Bool // the search attributes are registered
}

// Dial returns a client without waiting for the server: accepted work starts once Temporal answers. [Client.Check]
// reports whether it does. logger may be nil.
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

// Error implements [log.Logger]. It logs the error of an activity at level debug: activities log their own failures,
// which Temporal retries. A panic has other attributes.
func (q quiet) Error(message string, keyvals ...any) {
	if slices.Contains(keyvals, any("ActivityType")) && slices.Contains(keyvals, any("Error")) {
		q.Debug(message, keyvals...)
		return
	}
	q.Logger.Error(message, keyvals...)
}

// New returns a client for an existing connection. [Client.Close] closes it.
func New(cfg Config, sdk client.Client, logger *slog.Logger) *Client {
	cfg.Namespace = cmp.Or(cfg.Namespace, client.DefaultNamespace)
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, 10*time.Second)
	cfg.ReaperPeriod = cmp.Or(cfg.ReaperPeriod, time.Minute)
	cfg.GuardianPeriod = cmp.Or(cfg.GuardianPeriod, time.Minute)
	cfg.ConductorPeriod = cmp.Or(cfg.ConductorPeriod, 5*time.Minute)
	cfg.RetentionPeriod = cmp.Or(cfg.RetentionPeriod, time.Hour)
	return &Client{cfg: cfg, sdk: sdk, log: cmp.Or(logger, slog.New(slog.DiscardHandler))}
}

// SDK returns the SDK's client, for workers.
func (c *Client) SDK() client.Client { return c.sdk }

// Close closes the connection.
func (c *Client) Close() { c.sdk.Close() }

// Check returns nil if the server answers from its store, else [task.CodeUnavailable]. The server's gRPC health check
// does not read the store.
func (c *Client) Check(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.namespaceOwner(ctx)
	return err
}

// bounded adds the default deadline to a call.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.cfg.CallTimeout)
}
