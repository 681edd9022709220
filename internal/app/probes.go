package app

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/hostfault"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// probes returns the dependencies that /readyz shows. Only the database is required: omoi executes accepted requests
// after the other dependencies are back.
func (c *core) probes() []api.Probe {
	probes := []api.Probe{
		{Name: "database", Required: true, Check: c.store.Ping},
		{Name: "disk", Check: c.store.Writable}, // of the database server
		{Name: "temporal", Check: c.temporalWorks},
		{Name: "workers", Check: c.workersPoll, Tell: c.workersOnline},
		{Name: "relay", Check: func(ctx context.Context) error { return c.beats(ctx, ingest.PartRelay) }},
		{Name: "redis", Check: c.redisCheck()},
		{Name: "sandboxes", Check: c.store.NoAlert},
	}
	if c.cfg.Monitoring.Enabled {
		probes = append(probes, api.Probe{Name: "guardian", Check: c.cycles("guardian", c.cfg.Monitoring.GuardianInterval)},
			api.Probe{Name: "conductor", Check: c.cycles("conductor", c.cfg.Monitoring.ConductorInterval)})
	}
	return probes
}

// temporalWorks checks the Temporal server, and for omoi dev also whether its store is writable.
func (c *core) temporalWorks(ctx context.Context) error {
	if err := c.temporal.Check(ctx); err != nil || c.stack == nil {
		return err
	}
	return withNextStep(c.stack.CheckTemporal(ctx), c.cfg.Home)
}

// withNextStep adds the next step to an error of a full or faulty disk of home.
func withNextStep(err error, home string) error {
	if !hostfault.Is(err) {
		return err
	}
	return api.DownError{Err: err, Next: "free disk space in " + home, NoTasks: true}
}

// redisCheck returns the check of Redis; nil without Redis.
func (c *core) redisCheck() func(context.Context) error {
	if c.redis == nil {
		return nil
	}
	return func(ctx context.Context) error {
		if err := c.redis.Ping(ctx).Err(); err != nil {
			return task.Errorf(task.CodeUnavailable, "Redis does not answer: notifications between processes are delayed. Next: start Redis, or correct redis.url").WithCause(err)
		}
		return nil
	}
}

// beats returns an error if no process has reported a recent heartbeat of a component.
func (c *core) beats(ctx context.Context, part string) error {
	const missed = 3
	age, err := c.store.PulseAge(ctx, part)
	if err != nil {
		return err
	}
	if limit := missed * cmp.Or(c.cfg.Test.ComponentHeartbeat, ingest.HeartbeatInterval); time.Duration(age*float64(time.Second)) > limit {
		return task.Errorf(task.CodeUnavailable, "No %s has sent a heartbeat for %s.", part, limit)
	}
	return nil
}
