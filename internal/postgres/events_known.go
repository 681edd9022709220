package postgres

import (
	"context"
	"sync"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// maxKnown is how many sandboxes a process remembers for its intake: some 200 bytes each.
const maxKnown = 20_000

// knownSandboxes is how the last commit of this process left the rows of sandboxes. It may
// be stale: the statement that moves a row finds that out. Ended sandboxes are not kept.
type knownSandboxes struct {
	mu   sync.Mutex
	rows map[string]eventSandbox
}

// plan is made of what is remembered; nil if that is not enough for the requests.
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

// keep remembers what a commit has made of its sandboxes.
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

// commitKnown stores the requests in one round trip without reading or locking anything
// first. done is false, and nothing is stored, where that was not possible: a sandbox is not
// remembered, somebody else has moved it, a request would be refused, a key is a repeat.
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

// takeAll plans all requests; settled is false where what is remembered does not settle one.
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

// remembers reports whether the plan holds all that the request is judged by: the marks of
// later spools are only in the store, and a mark that is asked for, with nothing to store, is
// compared with no row.
func (p *eventPlan) remembers(r ingest.Request) bool {
	if len(r.Events) == 0 {
		return false
	}
	s := p.sandboxes[r.SandboxID]
	return r.SpoolID == "" || s.spoolID == nil || *s.spoolID == r.SpoolID
}

// unlessRefused is nil where the database has refused the transaction for what it holds: by
// then nothing is stored. Of anything else, such as a lost connection, that is not known.
func unlessRefused(err error) error {
	if ofClass(sqlState(err), "22", "23", "40", "54") {
		return nil
	}
	return err
}
