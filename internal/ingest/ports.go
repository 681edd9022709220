package ingest

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Bus notifies the waiting readers of a topic. It never blocks; a lost notification only costs latency.
type Bus interface {
	Wake(topic string)
	// Subscribe returns a channel that is ready after a notification, and a function that ends the subscription.
	Subscribe(topic string) (<-chan struct{}, func())
}

// Pulse records in the store that a component is alive, so that an outage of omoi is never taken for a silent agent.
type Pulse interface {
	Beat(ctx context.Context, part string) error
}

// recordHeartbeats records that a component is alive, at once and then in every period, until ctx ends.
func recordHeartbeats(ctx context.Context, store Pulse, part string, period time.Duration, log *slog.Logger) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		beatOnce(ctx, store, part, period, log)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func beatOnce(ctx context.Context, store Pulse, part string, period time.Duration, log *slog.Logger) {
	limited, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	if err := store.Beat(limited, part); err != nil && ctx.Err() == nil {
		log.WarnContext(ctx, "record component heartbeat failed, retrying", slog.String("component", part), slog.Any("error", err))
	}
}

// PollInterval is the interval at which due rows are read when no notification arrives.
const PollInterval = time.Second

// HeartbeatInterval is how often ingest and relay record that they are alive. Three missed heartbeats count as an
// outage, whose time counts against no agent.
const HeartbeatInterval = 5 * time.Second

// Components with a heartbeat.
const (
	PartIntake = "intake"
	PartRelay  = "relay"
)

// ErrData marks an error of a commit that the data of one of its requests caused.
var ErrData = errors.New("the database refuses the data")

// GapError is the cause of a [task.CodeConflict]: a batch began beyond the sender's watermark.
type GapError struct {
	Acknowledged int64 // the sender's sequences 1..Acknowledged are stored
}

// Error implements error and says where to continue.
func (e *GapError) Error() string {
	return "events 1.." + strconv.FormatInt(e.Acknowledged, 10) + " are stored"
}

// AcknowledgedOf returns the watermark of the [GapError] in err's chain.
func AcknowledgedOf(err error) (int64, bool) {
	if gap, ok := errors.AsType[*GapError](err); ok {
		return gap.Acknowledged, true
	}
	return 0, false
}

// Gap returns the error of a batch that began beyond its sender's watermark.
func Gap(acknowledged, first int64) error {
	return task.Errorf(task.CodeConflict,
		"Sequence gap: the batch begins with event %d, and only events 1 to %d are stored. Next: send from event %d on",
		first, acknowledged, acknowledged+1).WithKind(task.KindSequenceGap).WithCause(&GapError{Acknowledged: acknowledged})
}
