// Package receipt sums up a task: the receipt that proves what became of its sandboxes, and what its pull request tells.
package receipt

import (
	"time"

	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/task"
)

// DeletionReceipt proves what became of the sandboxes of a task.
type DeletionReceipt struct {
	TaskID    string         `json:"task_id"`
	Title     string         `json:"title"`
	Status    task.Status    `json:"status"`
	Sandboxes []task.Sandbox `json:"sandboxes" nullable:"false"` // of all attempts, the first one first
	// Verified is true if nothing of the task is left anywhere: every sandbox that had a machine was seen to be gone twice.
	// Of a task whose agents ran elsewhere nothing can be verified.
	Verified   bool `json:"verified"`
	Unverified int  `json:"unverified"` // sandboxes that were not
	// SecondLookAt is about when those are looked for again that are gone, by the API's setting; null where that is not all that is waited for.
	SecondLookAt *time.Time      `json:"second_look_at"`
	SecondsAlive float64         `json:"seconds_alive"`          // of all sandboxes together
	CostUSD      *float64        `json:"cost_usd"`               // of the models that the agents asked, as far as it is known; null: unknown
	CostUnknown  bool            `json:"cost_unknown"`           // models without a known price were used: cost_usd holds nothing for them
	Costs        []task.Money    `json:"costs" nullable:"false"` // of the sandboxes, by currency
	Unpriced     int             `json:"unpriced"`               // sandboxes that lived and whose provider has no price: in no cost
	Visits       []AccessSession `json:"visits" nullable:"false"`
	// Reviews are the verdicts on its work, of at most so many rounds.
	Reviews []task.Review `json:"validation_reviews" nullable:"false"`
	Rounds  int           `json:"validation_rounds"`
}

// AccessSession is an audited access of an operator to a sandbox.
type AccessSession struct {
	ID        string     `json:"id" doc:"UUID of the access session."`
	SandboxID string     `json:"sandbox_id" doc:"Sandbox that was accessed."`
	User      string     `json:"user" doc:"Name of the user, or of the API key, who accessed the sandbox."`
	Kind      string     `json:"kind" enum:"shell,exec,copy_in,copy_out" doc:"How the operator accessed the sandbox. More values may be added."`
	Summary   string     `json:"summary" doc:"Command or path, without secrets."`
	StartedAt time.Time  `json:"started_at" doc:"When the access session was recorded, before the access."`
	EndedAt   *time.Time `json:"ended_at" doc:"When the end was reported; null: open, or the end was never reported."`
	Outcome   string     `json:"outcome" doc:"How the session ended, as its client reported; empty: not reported."`
}

// New sums up the sandboxes of a task.
func New(t task.Task, boxes []task.Sandbox, visits []AccessSession) DeletionReceipt {
	machines, models := 0, 0.0
	r := DeletionReceipt{TaskID: t.ID, Title: t.Title, Status: t.Status, Sandboxes: boxes, Costs: []task.Money{}, Visits: visits, Reviews: t.Reviews, Rounds: t.Rounds}
	for _, b := range boxes {
		r.SecondsAlive += b.SecondsAlive
		models += task.Deref(b.CostUSD)
		r.CostUnknown = r.CostUnknown || b.CostUnknown
		if b.Machine() {
			machines++
			r.addMachine(b)
		}
	}
	r.CostUSD = cost.Known(models, r.CostUnknown)
	r.Verified = r.Unverified == 0 && (machines > 0 || len(boxes) == 0)
	return r
}

// LookAgain says when the last of the sandboxes is looked for again that are gone and not verified; after is how long after the
// first look at a provider elsewhere.
func (r *DeletionReceipt) LookAgain(after time.Duration) {
	var last *time.Time
	for _, b := range r.Sandboxes {
		if !b.Machine() || b.VerifiedAt != nil {
			continue
		}
		if b.GoneAt == nil || task.ProviderOf(b.Provider).HostBound {
			return
		}
		if at := b.GoneAt.Add(after); last == nil || at.After(*last) {
			last = &at
		}
	}
	r.SecondLookAt = last
}

func (r *DeletionReceipt) addMachine(b task.Sandbox) {
	if b.VerifiedAt == nil {
		r.Unverified++
	}
	if b.Cost == nil {
		if b.SecondsAlive > 0 {
			r.Unpriced++
		}
		return
	}
	for n := range r.Costs {
		if r.Costs[n].Currency == b.Cost.Currency {
			r.Costs[n].Amount += b.Cost.Amount
			return
		}
	}
	r.Costs = append(r.Costs, *b.Cost)
}
