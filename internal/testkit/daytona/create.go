package daytona

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// create makes a sandbox. With a snapshot it waits for a while until it is started, with an
// image it does not; one that fails meanwhile answers 400 and is there all the same.
func (s *Server) create(r *http.Request) (any, error) {
	var in createBody
	if err := read(r, &in); err != nil {
		return nil, err
	}
	if late, hit := s.faults.take(LateCreate, aim{method: r.Method, path: r.URL.Path, name: in.Name, snapshot: in.Snapshot}); hit {
		s.later(late.Delay, in)
		return nil, errAbort
	}
	b, err := s.make(in)
	if err != nil {
		return nil, err
	}
	wait := s.opts.CreateWait
	if in.BuildInfo != nil {
		wait = 0
	}
	body, err := s.await(r.Context(), b, wait)
	if err == nil && body.State == StateError && wait > 0 {
		err = badRequest("%s", body.ErrorReason)
	}
	return body, err
}

// later makes a sandbox that nobody waits for any more; what is wrong with it nobody hears.
func (s *Server) later(delay time.Duration, in createBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work(func() {
		if s.clock.wait(s.life, delay) == nil {
			_, _ = s.make(in)
		}
	})
}

// make records a sandbox and lets it begin.
func (s *Server) make(in createBody) (*box, error) {
	b := &box{id: task.NewID(), in: in, labels: maps.Clone(in.Labels), autoStop: 15, autoArchive: 10080, autoDelete: -1}
	if b.labels == nil {
		b.labels = map[string]string{}
	}
	if b.in.Env == nil {
		b.in.Env = map[string]string{}
	}
	b.name = or(in.Name, b.id)
	if err := s.check(b); err != nil {
		return nil, err
	}
	offline, _ := s.faults.holds(EgressBlocked, b.aim())
	b.cell = s.cell(b.id, in.Env, in.NetworkBlockAll || offline)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return nil, errAbort
	}
	if s.named(b.name) != nil {
		return nil, refuse(http.StatusConflict, "Sandbox with name %s already exists", b.name)
	}
	if err := b.cell.prepare(); err != nil {
		return nil, err
	}
	s.born++
	b.seq, b.created = s.born, s.clock.now()
	b.stopped = b.created
	if ttl := in.TTLMinutes; ttl != nil && *ttl > 0 {
		b.destroyAt = b.created.Add(minutes(*ttl))
	}
	s.boxes[b.id] = b
	s.begin(b)
	return b, nil
}

// begin lets a new sandbox go its way. The caller holds the lock.
func (s *Server) begin(b *box) {
	if b.build == nil {
		s.move(b, StateCreating, StateStarted, s.grow)
		return
	}
	s.move(b, StateBuilding, StateStarted, func(ctx context.Context, b *box) {
		if s.clock.wait(ctx, s.opts.BuildDelay) != nil {
			return
		}
		s.mu.Lock()
		b.state = StateCreating
		s.note(b)
		s.mu.Unlock()
		s.grow(ctx, b)
	})
}

// grow is the creating itself, slow or in vain if so switched.
func (s *Server) grow(ctx context.Context, b *box) {
	delay := s.opts.CreateDelay
	if slow, hit := s.faults.take(SlowCreate, b.aim()); hit {
		delay += slow.Delay
	}
	if broken, hit := s.faults.take(CreateError, b.aim()); hit {
		if s.clock.wait(ctx, delay) == nil {
			s.settle(b, StateError, or(broken.Message, "failed to create the sandbox on its runner"))
		}
		return
	}
	s.bringUp(delay)(ctx, b)
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// check judges what was asked for and fills in what was not.
func (s *Server) check(b *box) error {
	in := b.in
	for name, wrong := range map[string]bool{
		"gpu": in.GPU != 0, "volumes": len(in.Volumes) > 0, "linkedSandbox": in.LinkedSandbox != "",
		"secrets": len(in.Secrets) > 0, "autoPauseInterval": in.AutoPauseInterval != nil && *in.AutoPauseInterval != 0,
	} {
		if wrong {
			return badRequest("the emulator does not have %s", name)
		}
	}
	for name, n := range map[string]*int{"autoStopInterval": in.AutoStopInterval, "autoArchiveInterval": in.AutoArchiveInterval, "ttlMinutes": in.TTLMinutes} {
		if n != nil && *n < 0 {
			return badRequest("%s must not be less than 0", name)
		}
	}
	b.target = or(in.Target, s.opts.Regions[0])
	if !slices.Contains(s.opts.Regions, b.target) {
		return badRequest("Region %s not found", b.target)
	}
	b.autoStop, b.autoArchive, b.autoDelete = given(in.AutoStopInterval, 15), given(in.AutoArchiveInterval, 10080), given(in.AutoDeleteInterval, -1)
	if b.autoDelete < 0 {
		b.autoDelete = -1
	}
	if in.BuildInfo != nil {
		return s.checkBuild(b)
	}
	return s.checkSnapshot(b)
}

func given(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

func (s *Server) checkBuild(b *box) error {
	if b.in.Snapshot != "" {
		return badRequest("Cannot specify both a snapshot and build info")
	}
	if b.in.BuildInfo.DockerfileContent == "" {
		return badRequest("buildInfo.dockerfileContent should not be empty")
	}
	now := stamp(s.clock.now())
	b.build = &buildBody{b.in.BuildInfo.DockerfileContent, b.in.BuildInfo.ContextHashes, now, now, "daytona-" + b.id}
	b.cpu, b.memory, b.disk = given(b.in.CPU, 1), given(b.in.Memory, 1), given(b.in.Disk, 3)
	if b.cpu < 1 || b.memory < 1 || b.disk < 1 {
		return badRequest("cpu, memory and disk must not be less than 1")
	}
	return nil
}

func (s *Server) checkSnapshot(b *box) error {
	if b.in.CPU != nil || b.in.Memory != nil || b.in.Disk != nil {
		return badRequest("Cannot specify Sandbox resources when using a snapshot")
	}
	found, err := s.snapshot(or(b.in.Snapshot, s.opts.Snapshots[0].Name))
	if err != nil {
		return badRequest("Snapshot %s not found. Did you add it through the Daytona Dashboard?",
			or(b.in.Snapshot, s.opts.Snapshots[0].Name))
	}
	switch {
	case found.State != "active":
		return badRequest("Snapshot %s is %s", found.Name, found.State)
	case !slices.Contains(found.RegionIDs, b.target):
		return badRequest("Snapshot %s is not available in region %s", found.Name, b.target)
	}
	b.snapshot, b.cpu, b.memory, b.disk = found.Name, found.CPU, found.Mem, found.Disk
	return nil
}
