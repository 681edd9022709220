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

// HostSeen notes that a machine is there and offers providers, and agents in its local sandboxes. capacity is how many
// sandboxes it takes; 0 is no limit. back: it was declared lost until now.
func (s *Store) HostSeen(ctx context.Context, id string, providers, agents []string, capacity int) (back bool, err error) {
	back, err = s.q.HostSeen(ctx, db.HostSeenParams{
		ID: id, Name: storable(s.cfg.Machine), Version: s.cfg.Version, Providers: providers, Agents: append([]string{}, agents...), Capacity: capacity,
	})
	return back, translate("note host "+id, err)
}

// Hosts lists the machines that ever reported, those that did so last first.
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

// LoseHost declares a machine lost for good: its sandboxes are lost, nothing is verified any
// more, and attempts that live there end as infrastructure failure. [task.CodeNotFound] if it
// never reported, [task.CodeConflict] if it still does.
func (s *Store) LoseHost(ctx context.Context, id string) (_ client.Host, err error) {
	defer func() { err = translate("declare host "+id+" lost", err) }()
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

// tellLost reports in the name of sandboxes that they are lost, once each: what an event
// means to a task is settled already, wherever its workflow waits.
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

// Found notes that a machine holds the sandboxes that it lists. One whose attempt is over, and
// which the ledger has as lost, or on a machine that does not report, is there from now on.
func (s *Store) Found(ctx context.Context, hostID string, listed []sandbox.Sandbox) error {
	ids := mapAll(listed, func(box sandbox.Sandbox) string { return box.Labels.SandboxID })
	err := s.q.FoundSandboxes(ctx, db.FoundSandboxesParams{HostID: &hostID, Ids: ids, Fresh: s.cfg.HostFresh})
	return translate("note what host "+hostID+" lists", err)
}

// Adopt writes rows for those of the listed sandboxes that the ledger does not know. Their
// labels name the task, which may be unknown too.
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

// nameOf names a machine to people.
func nameOf(id, name string) string {
	if name == "" || name == id {
		return id
	}
	return id + " (" + name + ")"
}

// bareQuiet is for how long a sandbox that nobody made may say nothing before it counts as gone.
const bareQuiet = 24 * time.Hour
