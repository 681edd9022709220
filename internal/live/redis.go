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

// channel carries the topics of all notifications. One channel and a filter in each process cost less than a
// subscription per topic, of which a busy process would have thousands.
const channel = "omoi:wake"

// Config configures a [Redis] bus. The zero value is valid.
type Config struct {
	Pause   time.Duration // between attempts to reconnect; default 1 s
	Silence time.Duration // idle time until a ping, and time until its answer; default 3 s
}

const (
	// backlog is the maximum number of unsent notifications; more are lost to other processes.
	backlog = 1024
	// timeout bounds one call.
	timeout = 2 * time.Second
)

// Redis is a bus between processes. Subscribers in this process are notified directly, so that an unavailable Redis
// only costs other processes some latency.
type Redis struct {
	*Local

	cfg     Config
	client  *redis.Client
	log     *slog.Logger
	backlog chan string
	cancel  context.CancelFunc
	group   sync.WaitGroup
}

// NewRedis returns a bus on client, which the caller closes after the bus. Redis may be unavailable.
func NewRedis(cfg Config, client *redis.Client, log *slog.Logger) *Redis {
	cfg = Config{Pause: cmp.Or(cfg.Pause, time.Second), Silence: cmp.Or(cfg.Silence, 3*time.Second)}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Redis{Local: New(), cfg: cfg, client: client, log: log, backlog: make(chan string, backlog), cancel: cancel}
	r.group.Go(func() { r.publish(ctx) })
	r.group.Go(func() { r.listen(ctx) })
	return r
}

// Wake implements [Bus].
func (r *Redis) Wake(topic string) {
	r.Local.Wake(topic)
	select {
	case r.backlog <- topic:
	default:
	}
}

// Close implements [Bus].
func (r *Redis) Close() error {
	r.cancel()
	r.group.Wait()
	return r.Local.Close()
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

// gather returns the waiting topics without duplicates.
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
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := r.client.Pipelined(limited, func(pipe redis.Pipeliner) error {
		for topic := range topics {
			pipe.Publish(limited, channel, topic)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "publish notifications failed", slog.Int("topics", len(topics)), slog.Any("error", err))
	}
}

// listen keeps a subscription open. It notifies all waiting readers after each new subscription, since notifications
// may have been lost.
func (r *Redis) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.receive(ctx); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "redis subscription failed, retrying", slog.Any("error", err))
			r.WakeAll() // for an unknown time
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
	// Receiving does not watch the context; closing ends it.
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer stop()
	for asked := false; ; {
		message, err := subscription.ReceiveTimeout(ctx, r.cfg.Silence)
		if fault, ok := errors.AsType[net.Error](err); ok && fault.Timeout() && !asked {
			// A hanging server or a network failure would never end the connection.
			asked, err = true, subscription.Ping(ctx)
		} else {
			asked = false
		}
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *redis.Subscription:
			r.WakeAll()
		case *redis.Message:
			r.Local.Wake(m.Payload)
		}
	}
}
