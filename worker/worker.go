package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc/codes"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	// maxActivities is the limit of concurrent activities on each queue. They wait for networks and disks, and each may
	// hold a connection to the database for a moment.
	maxActivities = 100
	// maxPullRelays is the limit of concurrent pull relays on each queue of theirs. They wait more than they work, and nobody
	// would hear a sandbox whose relay found no room.
	maxPullRelays = 1000
	// maxWorkflowTasks is the limit of concurrent workflow tasks, which use the processor alone.
	maxWorkflowTasks = 50
	// pollers is the number of pollers of each kind and queue: enough to fetch a burst within a second.
	pollers = 4
	// throttle is the longest time for which a heartbeat is held back, and so how late an activity may learn that it is
	// cancelled. [contract.HeartbeatCall] bounds the call.
	throttle = time.Second
)

// HostHeartbeat is how often a worker reports that its host is online. A host that misses three gets no sandboxes.
const HostHeartbeat = 10 * time.Second

// Config holds the settings of a worker. Zero values mean the defaults named here.
type Config struct {
	// HostID names this host; its queue holds the work on its own sandboxes.
	HostID string
	// Version names the program in Temporal's histories; empty: the SDK reads the whole file for a hash.
	Version string
	// Providers are the providers of this machine, by their wire names.
	Providers []string
	// Agents are the agent runtimes whose program local sandboxes of this machine can run.
	Agents []string
	// Capacity is how many sandboxes the machine may hold; 0: no limit.
	Capacity int

	StopTimeout time.Duration // for activities under way when the process ends
	HostBeat    time.Duration // between heartbeats of the host; default [HostHeartbeat]
	Restore     time.Duration // between checks for a deleted schedule; default 1 min

	// StickyCache is how many workflows are kept in memory, in the whole process; 0: every workflow task replays.
	StickyCache int
}

// Hosts is the part of the store in which a machine says that it lives.
type Hosts interface {
	// HostSeen reports whether a person had declared the machine lost until now.
	HostSeen(ctx context.Context, hostID string, providers, agents []string, capacity int) (back bool, err error)
}

// Schedules is the part of Temporal that makes and wakes what runs at intervals.
type Schedules interface {
	EnsureSchedules(ctx context.Context) error
	RestoreSchedules(ctx context.Context) error
	WakeReaper(ctx context.Context) error
}

// Deps are what a worker works with.
type Deps struct {
	Client     client.Client
	Activities *activities.Activities
	Hosts      Hosts
	Schedules  Schedules
	Log        *slog.Logger
}

// Worker polls the task queues of omoi. It is unversioned: old histories must replay.
type Worker struct {
	cfg  Config
	deps Deps
	back bool // what was lost with this machine is to be looked for
}

// New makes a worker; [Worker.Run] starts it.
func New(cfg Config, deps Deps) *Worker {
	cfg.HostBeat = cmp.Or(cfg.HostBeat, HostHeartbeat)
	cfg.Restore = cmp.Or(cfg.Restore, time.Minute)
	return &Worker{cfg: cfg, deps: deps}
}

// Run works until ctx ends, then lets what is under way finish for StopTimeout and answers
// nil. It answers an error if it cannot start, or if Temporal refuses it for good.
func (w *Worker) Run(ctx context.Context) error {
	w.seen(ctx) // before polling: an attempt that begins now finds this host
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var stop func()
	err := w.insist(ctx, "start worker", unreachable, func() (err error) {
		stop, err = w.start(fail)
		return err
	})
	switch {
	case err == nil:
		defer stop()
	case ctx.Err() != nil:
		return ending(ctx)
	default:
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { w.schedule(ctx) })
	w.live(ctx)
	group.Wait()
	return ending(ctx)
}

// ending is why ctx has ended; nil: it was asked for.
func ending(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("poll task queues: %w", cause)
	}
	return nil
}

// schedule creates the schedules, resumes the reaper, and recreates deleted schedules until ctx ends.
func (w *Worker) schedule(ctx context.Context) {
	// A server that has just started may refuse for a while, which stops no task.
	ensure := func() error { return w.deps.Schedules.EnsureSchedules(ctx) }
	if w.insist(ctx, "create schedules", func(error) bool { return true }, ensure) != nil {
		return
	}
	if err := w.deps.Schedules.WakeReaper(ctx); err != nil {
		w.deps.Log.WarnContext(ctx, "resume reaper schedule failed", slog.String("error", err.Error()))
	}
	for wait.For(ctx, w.cfg.Restore) == nil {
		if err := w.deps.Schedules.RestoreSchedules(ctx); err != nil {
			w.deps.Log.WarnContext(ctx, "update schedules failed, retrying", slog.String("error", err.Error()))
		}
	}
}

// insist calls do until it succeeds, or fails with an error that does not pass, or ctx ends, and answers its last error.
func (w *Worker) insist(ctx context.Context, step string, passes func(error) bool, do func() error) error {
	const first, longest = 100 * time.Millisecond, 10 * time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		err := do()
		if err == nil || !passes(err) {
			return err
		}
		w.deps.Log.WarnContext(ctx, "start worker failed, retrying", slog.String("step", step), slog.String("error", err.Error()))
		if wait.For(ctx, pause) != nil {
			return err
		}
	}
}

// unreachable reports whether a server did not answer, which may be over in a moment.
func unreachable(err error) bool {
	code := serviceerror.ToStatus(err).Code()
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// start starts one SDK worker a queue; stop ends them side by side.
func (w *Worker) start(fail context.CancelCauseFunc) (stop func(), err error) {
	worker.SetStickyWorkflowCacheSize(w.cfg.StickyCache)
	worker.SetBinaryChecksum(w.cfg.Version)
	var running []worker.Worker
	stop = func() { stopAll(running) }
	for _, one := range w.queues(fail) {
		if err := one.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("start worker: %w", err)
		}
		running = append(running, one)
	}
	w.deps.Log.Info("worker started", slog.String("host_id", w.cfg.HostID), slog.Int("task_queues", len(running)))
	return stop, nil
}

// queues makes the SDK workers: the shared one, the one of slow work, and this machine's.
func (w *Worker) queues(fail context.CancelCauseFunc) []worker.Worker {
	a := w.deps.Activities
	tasks := worker.New(w.deps.Client, contract.QueueTasks, w.options(fail))
	registerTasks(tasks, a)
	all := []worker.Worker{tasks}
	for _, name := range []string{contract.QueueSandboxes, contract.QueueHost(w.cfg.HostID)} {
		options := w.options(fail)
		options.DisableWorkflowWorker = true
		sandboxes := worker.New(w.deps.Client, name, options)
		registerActivities(sandboxes, sandboxList(a))
		options.MaxConcurrentActivityExecutionSize = maxPullRelays
		options.MaxConcurrentActivityTaskPollers = 1
		relays := worker.New(w.deps.Client, contract.QueuePullRelays(name), options)
		registerActivities(relays, relayList(a))
		all = append(all, sandboxes, relays)
	}
	return all
}

func (w *Worker) options(fail context.CancelCauseFunc) worker.Options {
	return worker.Options{
		MaxConcurrentActivityExecutionSize:     maxActivities,
		MaxConcurrentWorkflowTaskExecutionSize: maxWorkflowTasks,
		MaxConcurrentActivityTaskPollers:       pollers,
		MaxConcurrentWorkflowTaskPollers:       pollers,
		MaxHeartbeatThrottleInterval:           throttle,
		WorkerStopTimeout:                      w.cfg.StopTimeout,
		DisableRegistrationAliasing:            true,
		Interceptors:                           []interceptor.WorkerInterceptor{w.deps.Activities.Errors()},
		OnFatalError:                           func(err error) { fail(err) },
	}
}

// stopAll stops side by side, so that the stop timeout counts once.
func stopAll(running []worker.Worker) {
	var all sync.WaitGroup
	for _, one := range running {
		all.Go(one.Stop)
	}
	all.Wait()
}

// live sends the heartbeat of this host until ctx ends. A slow store does not lengthen the period, after three of which the host
// counts as offline.
func (w *Worker) live(ctx context.Context) {
	ticks := time.NewTicker(w.cfg.HostBeat)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			w.seen(ctx)
		}
	}
}

// seen is one sign of life. A store that is down does not stop the worker.
func (w *Worker) seen(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, w.cfg.HostBeat)
	defer cancel()
	back, err := w.deps.Hosts.HostSeen(within, w.cfg.HostID, w.cfg.Providers, w.cfg.Agents, w.cfg.Capacity)
	if err != nil && ctx.Err() == nil {
		w.deps.Log.WarnContext(ctx, "report host heartbeat failed, retrying", slog.String("host_id", w.cfg.HostID), slog.String("error", err.Error()))
	}
	if w.back = w.back || back; w.back { // the reaper may rest: lost sandboxes do not keep it awake
		w.back = w.deps.Schedules.WakeReaper(within) != nil
	}
}
