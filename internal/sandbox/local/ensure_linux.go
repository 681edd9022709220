package local

import (
	"context"
	"os"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Ensure creates the sandbox, or adopts the one with the same labels. Errors: [sandbox.ErrNameTaken] for other labels,
// [sandbox.ErrFenced] after a delete, [task.CodeInvalid] for limits out of range, [task.CodeExhausted] without a free
// user ID. At the end of the lifetime the shim kills the command. The files stay until Delete, because they may contain
// work.
func (p *Provider) Ensure(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	spec, err := p.complete(spec)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	fence, err := p.fence(ctx, spec.Labels)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	defer fence.Release()
	if fence.IsDeleted() {
		return sandbox.Sandbox{}, sandbox.ErrFenced
	}
	f, m, err := p.find(spec.Labels)
	adopted := err == nil
	if task.CodeOf(err) == task.CodeNotFound {
		m, err = p.create(ctx, f, spec)
	}
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	box := m.sandbox()
	box.Adopted = adopted
	return box, nil
}

func (p *Provider) complete(spec sandbox.Spec) (sandbox.Spec, error) {
	spec, err := spec.Complete(p.cfg.Network, p.cfg.Limits, maxProcesses)
	if err != nil {
		return spec, err
	}
	if spec.Network == sandbox.NetworkNone && (p.mode != modeBubblewrap || !p.wrap.ownNet) {
		return spec, task.Invalid("network", "cannot create a sandbox without network: bubblewrap with a network namespace does not work on this host. Next: run omoi doctor")
	}
	return spec, nil
}

// create creates folder and files. labels.json is written last: without it the sandbox does not exist.
func (p *Provider) create(ctx context.Context, f folder, spec sandbox.Spec) (meta, error) {
	now := time.Now().UTC()
	m := meta{
		Labels: spec.Labels, Network: spec.Network, Mode: p.mode, UID: -1,
		Limits:    spec.Limits,
		Isolation: p.parts(spec.Network), CreatedAt: now,
		Cgroups: p.cg.dirs(task.SandboxName(spec.Labels.SandboxID)),
	}
	if spec.Lifetime > 0 {
		end := now.Add(spec.Lifetime)
		m.Deadline = &end
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return m, unavailable("create the folder of a sandbox", err)
	}
	if os.Geteuid() == 0 {
		uid, err := p.uids.take(ctx, f, p.trash(spec.Labels))
		if err != nil {
			return m, err
		}
		m.UID = uid
	}
	if err := p.populate(f, m); err != nil {
		return m, err
	}
	if err := os.WriteFile(f.at(fileLife), nil, 0o600); err != nil {
		return m, unavailable("create a life lock", err)
	}
	return m, f.save(fileLabels, m)
}

// parts returns the isolation features of a new sandbox. The first one is "none" without bubblewrap.
func (p *Provider) parts(n sandbox.Network) []string {
	parts := []string{"none"}
	if p.mode == modeBubblewrap {
		parts = []string{"bubblewrap", "userns", "pidns"}
		if p.wrap.denyUserNS {
			parts = append(parts, "no-nested-userns")
		}
		if len(p.wrap.filter) > 0 {
			parts = append(parts, "seccomp")
		}
		if n == sandbox.NetworkNone {
			parts = append(parts, "netns")
		}
	}
	if os.Geteuid() == 0 {
		parts = append(parts, "uid")
	}
	for _, controller := range p.cg.parts {
		parts = append(parts, "cgroup-"+controller)
	}
	if p.limitsUser(os.Geteuid() == 0) {
		parts = append(parts, partProcesses)
	}
	return append(parts, "disk-watch")
}
