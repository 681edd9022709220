package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// HostSeen records a heartbeat of a host with its providers and the agents of its local sandboxes. capacity is the
// maximum of sandboxes; 0: unlimited. The result back is true if the host was declared lost before.
func (s *Store) HostSeen(ctx context.Context, id string, providers, agents []string, capacity int) (back bool, err error) {
	back, err = s.q.HostSeen(ctx, db.HostSeenParams{
		ID: id, Name: storable(s.cfg.Machine), Version: s.cfg.Version, Providers: providers, Agents: append([]string{}, agents...), Capacity: capacity,
	})
	return back, translate("record host "+id, err)
}

// Hosts lists all hosts, most recent heartbeat first.
func (s *Store) Hosts(ctx context.Context) ([]client.Host, error) {
	rows, err := s.q.Hosts(ctx, s.cfg.HostFresh, "")
	return mapAll(rows, hostRecord), translate("list hosts", err)
}

func hostRecord(r db.HostsRow) client.Host {
	h := r.Host
	return client.Host{
		ID: h.ID, Name: h.Name, Version: h.Version, Providers: h.Providers, Agents: h.Agents, Capacity: orNull(h.Capacity), SeenAt: h.SeenAt, LostAt: h.LostAt,
		Online: r.Beats, Running: int(r.Live), Unverified: int(r.Unverified), Lost: int(r.Lost),
	}
}

func (s *Store) host(ctx context.Context, id string) (client.Host, error) {
	rows, err := s.q.Hosts(ctx, s.cfg.HostFresh, id)
	if err == nil && len(rows) == 0 {
		err = task.Errorf(task.CodeNotFound, "Unknown host %s.", id)
	}
	if err != nil {
		return client.Host{}, err
	}
	return hostRecord(rows[0]), nil
}

// LoseHost declares a host lost for good. Its sandboxes become lost, their deletion is no longer verified, and their
// running attempts end as infrastructure failure. Errors: [task.CodeNotFound] for an unknown host, [task.CodeConflict]
// if the host still sends heartbeats.
func (s *Store) LoseHost(ctx context.Context, id string) (_ client.Host, err error) {
	defer func() { err = translate("mark host "+id+" as lost", err) }()
	before, err := s.host(ctx, id)
	if err != nil {
		return before, err
	}
	told, err := txResult(ctx, s, func(q *db.Queries) ([]string, error) {
		if err := oneRow(q.HostLost(ctx, id, s.cfg.HostFresh)); err != nil {
			return nil, err
		}
		if err := q.LoseSandboxes(ctx, &id); err != nil {
			return nil, err
		}
		return q.LostAttempts(ctx, &id)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return before, task.Errorf(task.CodeConflict, "Cannot mark host %s as lost: its last heartbeat was at %s. Next: stop its worker",
			before.ID, before.SeenAt.UTC().Format(time.RFC3339))
	case err != nil:
		return before, err
	}
	if err := s.tellLost(ctx, before, told); err != nil {
		return before, err
	}
	return s.host(ctx, id)
}

// tellLost reports an event for each lost sandbox, once. The workflow handles the event like others, in any state.
func (s *Store) tellLost(ctx context.Context, h client.Host, sandboxes []string) error {
	if len(sandboxes) == 0 {
		return nil
	}
	data := jsonOf(map[string]string{
		"error":         fmt.Sprintf("The machine of the sandbox (%s) was declared lost; work that was not saved is lost with it.", nameOf(h.ID, h.Name)),
		"failure_class": string(task.ClassInfrastructure),
	})
	commit := ingest.Commit{}
	for _, id := range sandboxes {
		commit.Requests = append(commit.Requests, ingest.Request{
			SandboxID: id, Key: "omoi:host-lost",
			Events: []ingest.Event{{Type: event.AgentFailed, Source: ingest.SourceSystem, Data: data}},
		})
	}
	_, err := s.CommitEvents(ctx, commit)
	return err
}

// Found records the sandboxes that a host lists. A listed sandbox with an ended attempt that is marked as lost, or
// assigned to a host without heartbeats, exists on this host from now on.
func (s *Store) Found(ctx context.Context, hostID string, listed []sandbox.Sandbox) error {
	ids := mapAll(listed, func(box sandbox.Sandbox) string { return box.Labels.SandboxID })
	err := s.q.FoundSandboxes(ctx, db.FoundSandboxesParams{HostID: &hostID, Ids: ids, Fresh: s.cfg.HostFresh})
	return translate("record the sandboxes that host "+hostID+" lists", err)
}

// Adopt writes rows for listed sandboxes that the ledger does not contain. Their labels name the task, which may be
// unknown too.
func (s *Store) Adopt(ctx context.Context, provider, hostID string, listed []sandbox.Sandbox) error {
	spec := task.ProviderOf(provider)
	for _, box := range listed {
		err := s.q.AdoptSandbox(ctx, db.AdoptSandboxParams{
			ID: box.Labels.SandboxID, TaskID: box.Labels.TaskID, Attempt: new(box.Labels.Attempt),
			Provider: spec.Name, HostBound: spec.HostBound, Machine: spec.Machine, ProviderID: &box.ProviderID, HostID: orNull(hostID), Labels: jsonOf(box.Labels), CreatedAt: box.CreatedAt,
		})
		if err != nil {
			return translate("adopt sandbox "+box.Labels.SandboxID, err)
		}
	}
	return nil
}

// nameOf returns the name of a host for users.
func nameOf(id, name string) string {
	if name == "" || name == id {
		return id
	}
	return id + " (" + name + ")"
}

// bareQuiet is the silence after which an unmanaged sandbox counts as deleted.
const bareQuiet = 24 * time.Hour
