package postgres

import (
	"context"
	"sync"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// maxKnown is the number of sandboxes that a process remembers for ingest, about 200 bytes each.
const maxKnown = 20_000

// knownSandboxes holds the rows of sandboxes after the last commit of this process. A stale row is detected by the
// statement that updates it. Ended sandboxes are not kept.
type knownSandboxes struct {
	mu   sync.Mutex
	rows map[string]eventSandbox
}

// plan returns a plan from the remembered rows; nil if the row of a sandbox is missing.
func (k *knownSandboxes) plan(requests []ingest.Request) *eventPlan {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := newEventPlan(requests)
	for _, r := range requests {
		if _, taken := p.sandboxes[r.SandboxID]; taken {
			continue
		}
		row, known := k.rows[r.SandboxID]
		if !known {
			return nil
		}
		p.sandboxes[r.SandboxID] = &row
	}
	return p
}

// keep remembers the sandboxes after a commit.
func (k *knownSandboxes) keep(p *eventPlan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rows == nil || len(k.rows)+len(p.sandboxes) > maxKnown {
		k.rows = make(map[string]eventSandbox, len(p.sandboxes))
	}
	for id, s := range p.sandboxes {
		if s.ended {
			delete(k.rows, id)
			continue
		}
		k.rows[id] = s.settled()
	}
}

func (k *knownSandboxes) forget(requests []ingest.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range requests {
		delete(k.rows, r.SandboxID)
	}
}

// commitKnown stores the requests in one round trip without reading or locking first. If done is false, no event was
// stored: a row is not remembered or is stale, a request would be rejected, or a key is a duplicate.
func (s *Store) commitKnown(ctx context.Context, c ingest.Commit) (outcomes []ingest.Outcome, done bool, err error) {
	plan := s.known.plan(c.Requests)
	outcomes, settled := plan.takeAll(c.Requests)
	if !settled {
		return nil, false, nil
	}
	pool, err := s.commits()
	if err != nil {
		return nil, false, err
	}
	if err := pool.SendBatch(ctx, plan.batch(ctx, c)).Close(); err != nil {
		s.known.forget(c.Requests)
		return nil, false, unlessRefused(err)
	}
	for n := range outcomes {
		outcomes[n].CreatedAt = plan.moved
	}
	s.known.keep(plan)
	return outcomes, true, nil
}

// takeAll plans all requests; settled is false if the remembered rows do not suffice for one.
func (p *eventPlan) takeAll(requests []ingest.Request) (outcomes []ingest.Outcome, settled bool) {
	if p == nil {
		return nil, false
	}
	outcomes = make([]ingest.Outcome, 0, len(requests))
	for _, r := range requests {
		if !p.remembers(r) {
			return nil, false
		}
		out := p.take(r)
		if out.Err != nil {
			return nil, false
		}
		outcomes = append(outcomes, out)
	}
	return outcomes, true
}

// remembers reports whether the plan holds all data to check the request. Watermarks of later spools are only in the
// database, and a request without events has no row whose update would detect a stale plan.
func (p *eventPlan) remembers(r ingest.Request) bool {
	if len(r.Events) == 0 {
		return false
	}
	s := p.sandboxes[r.SandboxID]
	return r.SpoolID == "" || s.spoolID == nil || *s.spoolID == r.SpoolID
}

// unlessRefused returns nil if the database rejected the transaction, which means that no event was stored. After other
// errors, for example a lost connection, the outcome is unknown.
func unlessRefused(err error) error {
	if ofClass(sqlState(err), "22", "23", "40", "54") {
		return nil
	}
	return err
}
