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

// labelDisk is the label with the disk limit in bytes; 0: no limit.
const labelDisk = "omoi.disk"

const (
	// diskRest is the minimum time between two counts, unless free space drops fast.
	diskRest = 10 * time.Second
	// diskShare is the pause after a count, as a multiple of the count's duration: the engine walks all its volumes.
	diskShare = 20
)

var _ sandbox.DiskKeeper = (*Provider)(nil)

// disks is the result of the last count.
type disks struct {
	next time.Time
	free int64 // bytes free on the engine's file system
	room int64 // smallest distance in bytes of a sandbox to its limit
}

// holding is a running sandbox with the size of its volumes.
type holding struct {
	labels       sandbox.Labels
	bytes, limit int64
}

// KeepDisks counts the disk use of running sandboxes if the engine's file system cannot enforce limits, and kills those
// above their limit. The counts are at least [diskRest] apart, or less if free space drops fast.
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
		// The engine counts the apparent size of files, and sparse files are smaller. If du cannot read the sandbox,
		// the engine's count decides.
		if used, ok := p.used(ctx, one.labels); ok {
			one.bytes = used
		}
		if one.bytes > one.limit {
			errs = append(errs, p.full(ctx, one))
		}
	}
	return errors.Join(errs...)
}

// freeBytes returns the free bytes of the file system with the engine's data; 0 if the engine runs on another machine,
// or before the first call of facts.
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

// diskDue reports whether the pause is over, or free space has dropped by a quarter of the room since the last count.
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

// held returns the running sandboxes with a limit that the engine does not enforce, and the engine's count of their
// files.
func (p *Provider) held(ctx context.Context, installation string) ([]holding, error) {
	running, err := p.containers(ctx, container.ListOptions{Filters: ofInstallation(installation)})
	if err != nil || len(running) == 0 { // without containers of the installation the engine gets no further request
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

// used runs du in the sandbox. ok is false if du fails or may not enter a folder.
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

// full kills the processes of a sandbox, and writes the reason into the fence for [Provider.Inspect].
func (p *Provider) full(ctx context.Context, one holding) error {
	return p.locked(ctx, one.labels, func(ctx context.Context, f *fence.Fence) error {
		found, err := p.find(ctx, one.labels)
		if err != nil || !found.State.Running {
			return err
		}
		f.Full = fmt.Sprintf("the disk use of %d MB exceeds the limit of %d MB", one.bytes/1e6, one.limit/1e6)
		p.log.WarnContext(ctx, "sandbox stopped: disk limit exceeded", slog.String("sandbox_id", one.labels.SandboxID), slog.String("reason", f.Full))
		if err := f.Write(); err != nil {
			return err
		}
		_, err = p.signal(ctx, found.ID, "KILL", time.Minute)
		return err
	})
}
