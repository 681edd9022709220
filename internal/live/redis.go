package live

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// channel carries the topics of all wake-ups. One channel and a filter in each process
// cost less than a subscription a topic, of which a busy process would have thousands.
const channel = "omoi:wake"

// Config is what a [Redis] bus is told. The zero value works.
type Config struct {
	Backlog int           // wake-ups that may wait to be sent; more are lost to other processes; default 1024
	Timeout time.Duration // of one call; default 2 s
	Pause   time.Duration // between tries to reach Redis again; default 1 s
	Silence time.Duration // after which Redis is asked whether it lives, and given up after as much again; default 3 s
}

// Redis is a bus that spans processes. Subscribers in this process are woken directly, so
// that a Redis that is away costs other processes some latency and this one nothing.
type Redis struct {
	cfg     Config
	client  *redis.Client
	log     *slog.Logger
	local   *Local
	backlog chan string
	cancel  context.CancelFunc
	group   sync.WaitGroup
}

// NewRedis makes a bus on client, which the caller closes after the bus. Redis need not
// answer yet. log may be nil.
func NewRedis(cfg Config, client *redis.Client, log *slog.Logger) *Redis {
	cfg = cfg.withDefaults()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Redis{cfg: cfg, client: client, log: log, local: New(), backlog: make(chan string, cfg.Backlog), cancel: cancel}
	r.group.Go(func() { r.publish(ctx) })
	r.group.Go(func() { r.listen(ctx) })
	return r
}

// Wake implements [Bus].
func (r *Redis) Wake(topic string) {
	r.local.Wake(topic)
	select {
	case r.backlog <- topic:
	default:
	}
}

// Subscribe implements [Bus].
func (r *Redis) Subscribe(topic string) (<-chan struct{}, func()) { return r.local.Subscribe(topic) }

// Close implements [Bus].
func (r *Redis) Close() error {
	r.cancel()
	r.group.Wait()
	return r.local.Close()
}

func (r *Redis) publish(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case topic := <-r.backlog:
			r.publishAll(ctx, r.gather(topic))
		}
	}
}

// gather takes what waits, each topic once.
func (r *Redis) gather(first string) map[string]struct{} {
	const most = 256
	topics := map[string]struct{}{first: {}}
	for range most {
		select {
		case topic := <-r.backlog:
			topics[topic] = struct{}{}
		default:
			return topics
		}
	}
	return topics
}

func (r *Redis) publishAll(ctx context.Context, topics map[string]struct{}) {
	limited, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	_, err := r.client.Pipelined(limited, func(pipe redis.Pipeliner) error {
		for topic := range topics {
			pipe.Publish(limited, channel, topic)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "wake-ups lost", slog.Int("topics", len(topics)), slog.Any("error", err))
	}
}

// listen keeps a subscription. Whoever waits is woken after each new one, since it is not
// known what was missed.
func (r *Redis) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.receive(ctx); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "live bus interrupted", slog.Any("error", err))
			r.local.WakeAll() // since when is not known
		}
		select {
		case <-ctx.Done():
		case <-time.After(r.cfg.Pause):
		}
	}
}

func (r *Redis) receive(ctx context.Context) error {
	subscription := r.client.Subscribe(ctx, channel)
	defer func() { _ = subscription.Close() }()
	// Receiving does not watch the context, closing ends it.
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer stop()
	asked := false
	for {
		message, err := subscription.ReceiveTimeout(ctx, r.cfg.Silence)
		if err != nil {
			if asked || !isTimeout(err) {
				return err
			}
			// One that hangs, or a network that lost it, would never end the connection.
			if err := subscription.Ping(ctx); err != nil {
				return err
			}
			asked = true
			continue
		}
		asked = false
		switch m := message.(type) {
		case *redis.Subscription:
			r.local.WakeAll()
		case *redis.Message:
			r.local.Wake(m.Payload)
		}
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func (c Config) withDefaults() Config {
	return Config{
		Backlog: cmp.Or(c.Backlog, 1024), Timeout: cmp.Or(c.Timeout, 2*time.Second), //nolint:mnd // the documented defaults
		Pause: cmp.Or(c.Pause, time.Second), Silence: cmp.Or(c.Silence, 3*time.Second),
	}
}
