// Package receipt summarizes a task: its deletion receipt, and the data of its pull request.
package receipt

import (
	"time"

	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/task"
)

// DeletionReceipt proves the lifetimes and deletions of a task's sandboxes.
type DeletionReceipt struct {
	TaskID                string            `json:"task_id" doc:"Task whose sandboxes the receipt covers."`
	TaskKey               string            `json:"task_key" doc:"Key of that task, for example APP-12."`
	Title                 string            `json:"title" doc:"Short name of the task."`
	Status                task.Status       `json:"status" doc:"Status of the task when the answer was made."`
	Sandboxes             []task.Sandbox    `json:"sandboxes" nullable:"false" doc:"Sandboxes of all attempts, the first one first."`
	Verified              bool              `json:"verified" doc:"True: there is no sandbox, or the deletion of all is verified. False also if all agents ran elsewhere: nothing can be verified there."`
	Unverified            int               `json:"unverified" doc:"Number of sandboxes whose deletion is not verified."`
	VerificationDueAt     *time.Time        `json:"verification_due_at" doc:"Estimated time of the last second absence check. Null: none is pending, or a sandbox still exists."`
	SecondsAlive          float64           `json:"seconds_alive" doc:"Lifetime of all sandboxes together, in seconds."`
	CostUSD               *float64          `json:"cost_usd" doc:"Cost of the models in US dollars, as far as known. Null: unknown."`
	CostUnknown           bool              `json:"cost_unknown" doc:"True: a model without a known price was used, and cost_usd leaves its cost out."`
	Costs                 []task.Money      `json:"costs" nullable:"false" doc:"Cost of the sandboxes, one sum for each currency."`
	SandboxesWithoutPrice int               `json:"sandboxes_without_price" doc:"Number of sandboxes that are in no cost, since their provider has no configured price."`
	AccessSessions        []AccessSession   `json:"access_sessions" nullable:"false" doc:"Access sessions of operators in the sandboxes, oldest first."`
	Reviews               []task.Validation `json:"validation_reviews" nullable:"false" doc:"Verdicts on the work, first round first."`
	Rounds                int               `json:"validation_rounds" doc:"Maximum number of validation rounds. 0: no validation."`
	TestRepeats           []task.TestRepeat `json:"test_repeats" nullable:"false" doc:"Repeats of the test command by omoi, first attempt first; their sandboxes are in sandboxes."`
}

// AccessSession is an audited access of an operator to a sandbox.
type AccessSession struct {
	ID        string     `json:"id" doc:"UUID of the access session."`
	SandboxID string     `json:"sandbox_id" doc:"Sandbox that the operator accessed."`
	User      string     `json:"user" doc:"Name of the user, or of the API key, who accessed the sandbox."`
	Kind      string     `json:"kind" enum:"shell,exec,copy_in,copy_out" doc:"How the operator accessed the sandbox. More values may be added."`
	Summary   string     `json:"summary" doc:"Command or path, without secrets."`
	StartedAt time.Time  `json:"started_at" doc:"When the access session was recorded, before the access."`
	EndedAt   *time.Time `json:"ended_at" doc:"When the end was reported; null: open, or the end was never reported."`
	Outcome   string     `json:"outcome" doc:"How the session ended, as its client reported; empty: not reported."`
}

// New summarizes the sandboxes of a task.
func New(t task.Task, boxes []task.Sandbox, visits []AccessSession) DeletionReceipt {
	machines, models := 0, 0.0
	r := DeletionReceipt{TaskID: t.ID, TaskKey: t.Key, Title: t.Title, Status: t.Status, Sandboxes: boxes, Costs: []task.Money{}, AccessSessions: visits, Reviews: t.Reviews, Rounds: t.Rounds, TestRepeats: t.TestRepeats()}
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

// LookAgain sets when the last unverified sandbox is checked again. after is the time between the two absence checks
// for a remote provider.
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
	r.VerificationDueAt = last
}

func (r *DeletionReceipt) addMachine(b task.Sandbox) {
	if b.VerifiedAt == nil {
		r.Unverified++
	}
	if b.Cost == nil {
		if b.SecondsAlive > 0 {
			r.SandboxesWithoutPrice++
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
