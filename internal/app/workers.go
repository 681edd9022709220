package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// workersPoll returns an error while a required task queue has no worker. Workers report to the database, so the check
// works while Temporal is down.
func (c *core) workersPoll(ctx context.Context) error {
	what, next, err := c.queuesWithoutWorker(ctx)
	if err != nil || what == "" {
		return err
	}
	return api.DownError{Err: task.Errorf(task.CodeUnavailable, "%s", what), Next: next, NoTasks: next == nextWorker}
}

// nextWorker is the next step if no worker reports at all.
const nextWorker = "omoi worker"

// queuesWithoutWorker returns the required task queues without a worker, and the next step; empty: all queues have one.
func (c *core) queuesWithoutWorker(ctx context.Context) (what, next string, err error) {
	hosts, err := c.store.Hosts(ctx)
	if err != nil {
		return "", "", err
	}
	online, missing := 0, []string{}
	for _, h := range hosts {
		switch {
		case h.Online:
			online++
		case h.LostAt == nil && h.Running+h.Unverified > 0:
			missing = append(missing, fmt.Sprintf("No worker polls %s: host %s holds %d sandboxes and reported last at %s",
				contract.QueueHost(h.ID), cmp.Or(h.Name, h.ID), h.Running+h.Unverified, h.SeenAt.UTC().Format(time.RFC3339)))
			next = "start its worker, or omoi host list"
		}
	}
	if online == 0 {
		missing = append([]string{fmt.Sprintf("No worker polls %s and %s: tasks are accepted and wait", contract.QueueTasks, contract.QueueSandboxes)}, missing...)
		next = nextWorker
	}
	return strings.Join(missing, "; "), next, nil
}

// workersOnline returns the online workers with their versions and task queues.
func (c *core) workersOnline(ctx context.Context) string {
	hosts, _ := c.store.Hosts(ctx) // workersPoll reports the error
	online := []string{}
	for _, h := range hosts {
		if h.Online {
			online = append(online, fmt.Sprintf("%s, version %s, polls %s, %s and %s", cmp.Or(h.Name, h.ID), h.Version,
				contract.QueueTasks, contract.QueueSandboxes, contract.QueueHost(h.ID)))
		}
	}
	return strings.Join(online, "; ")
}

// watchWorkers raises an alert after two consecutive checks have found a queue without a worker, and clears the alert
// later. A single check may coincide with the start of a worker.
func (c *core) watchWorkers(ctx context.Context) error {
	silence := 3 * hostHeartbeat(c.cfg) // maximum time between two heartbeats of an online worker
	for missed := 0; wait.For(ctx, silence) == nil; {
		missed = c.lookAtWorkers(ctx, missed)
	}
	return nil
}

// lookAtWorkers is one check; missed counts the consecutive checks that found a queue without a worker.
func (c *core) lookAtWorkers(ctx context.Context, missed int) int {
	const source = "workers"
	text, next, err := c.queuesWithoutWorker(ctx)
	switch {
	case err != nil:
		return missed // the state of the workers is unknown
	case text == "":
		missed = 0
	default:
		text += ". Next: " + next
		missed++
	}
	if missed == 1 {
		return missed
	}
	if err := c.store.SetAlert(ctx, source, text); err != nil && ctx.Err() == nil {
		c.log.WarnContext(ctx, "record alert failed", slog.String("source", source), slog.String("alert", text), slog.String("error", err.Error()))
	}
	return missed
}

// checkWorkers returns the finding on workers and task queues of the running API; empty without an API.
func checkWorkers(ctx context.Context, cfg *config.Loaded, address string) []Finding {
	d, found := dependency(ctx, cfg, address, "workers")
	switch {
	case !found:
		return nil
	case d.State == client.StateOK:
		return []Finding{{Check: d.Name, Status: FindingOK, Detail: d.Detail}}
	}
	return []Finding{{Check: d.Name, Status: FindingWarn, Detail: d.Detail, Next: d.Next}}
}

func isDown(d client.Dependency) bool { return d.State == client.StateDown }

// dependency returns what /readyz of an API says about a dependency. An empty address means the configured API.
func dependency(ctx context.Context, cfg *config.Loaded, address, name string) (_ client.Dependency, found bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ready, err := client.New(cmp.Or(address, apiURL(cfg)), cfg.API.Key.Reveal()).Ready(ctx)
	if err != nil {
		return client.Dependency{}, false
	}
	for _, d := range ready.Dependencies {
		if d.Name == name {
			return d, true
		}
	}
	return client.Dependency{}, false
}
