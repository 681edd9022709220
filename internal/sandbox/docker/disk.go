package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
)

// labelDisk is how many bytes a sandbox may hold; 0: as many as it can.
const labelDisk = "omoi.disk"

const (
	// diskRest is the least time between two counts that no loss of free space called for.
	diskRest = 10 * time.Second
	// diskShare is how many times as long as a count the rest after it is, since an engine walks all its volumes.
	diskShare = 20
)

var _ sandbox.DiskKeeper = (*Provider)(nil)

// disks is what the last count found.
type disks struct {
	next time.Time
	free int64 // of the engine's file system
	room int64 // the least that a sandbox may still take
}

// holding is a running sandbox and what it holds.
type holding struct {
	labels       sandbox.Labels
	bytes, limit int64
}

// KeepDisks counts what running sandboxes hold where the engine's file system cannot hold them to their
// disk, and ends those that hold more. It does so every few seconds, and sooner when much free space has gone.
func (p *Provider) KeepDisks(ctx context.Context, installation string) error {
	free := p.freeBytes()
	if !p.diskDue(free) {
		return nil
	}
	begun := time.Now()
	held, err := p.held(ctx, installation)
	p.diskCounted(held, free, time.Since(begun))
	errs := []error{err}
	for _, one := range held {
		if one.bytes <= one.limit {
			continue
		}
		// An engine counts the lengths of files, which may have holes. Where nothing inside can tell, the engine is believed.
		if used, ok := p.used(ctx, one.labels); ok {
			one.bytes = used
		}
		if one.bytes > one.limit {
			errs = append(errs, p.full(ctx, one))
		}
	}
	return errors.Join(errs...)
}

// freeBytes is the free space of the file system that holds the engine's data; 0 where that is not on this
// machine, or nothing is known of it yet.
func (p *Provider) freeBytes() int64 {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	var stat unix.Statfs_t
	if known == nil || !strings.HasPrefix(p.cfg.Host, "unix://") || unix.Statfs(known.info.DockerRootDir, &stat) != nil {
		return 0
	}
	return int64(stat.Bfree) * int64(stat.Bsize) //nolint:gosec,unconvert // of a real disk; its type differs between systems
}

// diskDue is true when time is over, or when so much free space has gone that a sandbox may be near its limit.
func (p *Provider) diskDue(free int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().After(p.disks.next) || free > 0 && p.disks.room > 0 && p.disks.free-free > p.disks.room/4
}

func (p *Provider) diskCounted(held []holding, free int64, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disks.free, p.disks.room = free, 0
	p.disks.next = time.Now().Add(max(diskRest, diskShare*took))
	for i, one := range held {
		if left := one.limit - one.bytes; i == 0 || left < p.disks.room {
			p.disks.room = left
		}
	}
}

// held counts, as the engine does, the running sandboxes that have a limit which the engine does not enforce.
func (p *Provider) held(ctx context.Context, installation string) ([]holding, error) {
	running, err := p.containers(ctx, container.ListOptions{Filters: ofInstallation(installation)})
	if err != nil || len(running) == 0 { // nothing more is asked of an engine that has nothing of ours
		return nil, err
	}
	f, err := p.facts(ctx)
	if err != nil || f.quota {
		return nil, err
	}
	usage, err := p.engine.DiskUsage(ctx, types.DiskUsageOptions{Types: []types.DiskUsageObject{types.VolumeObject}})
	if err != nil {
		return nil, engineError("count what its volumes hold", err)
	}
	files := make(map[sandbox.Labels]int64)
	for _, v := range usage.Volumes {
		if v != nil && v.UsageData != nil && v.Labels[labelRole] == roleFiles {
			files[labelsOf(v.Labels)] += max(v.UsageData.Size, 0)
		}
	}
	var held []holding
	for _, c := range running {
		limit, _ := strconv.ParseInt(c.Labels[labelDisk], 10, 64)
		if labels := labelsOf(c.Labels); c.Labels[labelRole] == roleSandbox && limit > 0 {
			held = append(held, holding{labels: labels, bytes: files[labels], limit: limit})
		}
	}
	return held, nil
}

// used asks a program inside, in a container of its own. What it was not allowed to enter it cannot count.
func (p *Provider) used(ctx context.Context, labels sandbox.Labels) (bytes int64, ok bool) {
	trees := []string{sandbox.Dir, sandbox.Workspace, sandbox.Home}
	res, err := sandbox.Exec(ctx, p, labels, sandbox.Command{Args: append([]string{"du", "-sk"}, trees...)})
	if err != nil || strings.Contains(strings.ToLower(string(res.Stderr)), "denied") {
		return 0, false
	}
	counted := 0
	for line := range strings.Lines(string(res.Stdout)) {
		word, _, _ := strings.Cut(line, "\t")
		kib, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil {
			return 0, false
		}
		bytes, counted = bytes+kib<<10, counted+1
	}
	return bytes, counted == len(trees)
}

// full ends what runs in a sandbox, and notes why, so that [Provider.Inspect] knows.
func (p *Provider) full(ctx context.Context, one holding) error {
	return p.locked(ctx, one.labels, func(ctx context.Context, f *fence.Fence) error {
		found, err := p.find(ctx, one.labels)
		if err != nil || !found.State.Running {
			return err
		}
		f.Full = fmt.Sprintf("it holds %d MB, more than its disk of %d MB", one.bytes/1e6, one.limit/1e6)
		p.log.WarnContext(ctx, "sandbox stopped: disk limit exceeded", slog.String("sandbox_id", one.labels.SandboxID), slog.String("reason", f.Full))
		if err := f.Write(); err != nil {
			return err
		}
		_, err = p.signal(ctx, found.ID, "KILL", time.Minute)
		return err
	})
}
