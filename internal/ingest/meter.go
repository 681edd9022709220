package ingest

import (
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// IntakeMeter counts the work of an Intake. Its methods are called for every request and must be cheap.
type IntakeMeter interface {
	// Committed counts one transaction with the events of many requests.
	Committed(requests, stored, duplicates int, took time.Duration)
	// Waited records how long one request waited for its commit.
	Waited(d time.Duration)
	// TurnedAway counts a request that was not queued.
	TurnedAway()
	// Lost counts requests whose transaction failed.
	Lost(requests int)
	// CheckpointFailed counts a failure with a checkpoint.
	CheckpointFailed(reason string)
}

// CheckpointInSandbox is the reason of a failure that omoi-agent reported.
const CheckpointInSandbox = "sandbox"

// RelayMeter counts the signals of a relay. The argument what is start, command, admitted or digest.
type RelayMeter interface {
	Sent(what string)
	// Failed counts a failed call that is retried; what may also be store.
	Failed(what string)
	Dropped(what string)
}

// Signals of a relay, as arguments of its meter.
const (
	whatStart    = "start"
	whatCommand  = "command"
	whatAdmitted = "admitted"
	whatDigest   = "digest"
	whatStore    = "store"
)

// Waiting returns the number of requests that wait for a transaction.
func (i *Intake) Waiting() (n int) {
	for _, lane := range i.lanes {
		n += len(lane)
	}
	return n
}

// measure reports a successful transaction to the meter.
func (i *Intake) measure(all []*waiter, outcomes []Outcome, began time.Time) {
	now := time.Now()
	stored, duplicates := 0, 0
	for n, w := range all {
		stored, duplicates = stored+outcomes[n].Stored, duplicates+outcomes[n].Duplicates
		i.cfg.Meter.Waited(now.Sub(w.since))
		for _, e := range w.request.Events[len(w.request.Events)-outcomes[n].Stored:] { // duplicates come first
			if e.Type == event.AgentCheckpointFailed {
				i.cfg.Meter.CheckpointFailed(CheckpointInSandbox)
			}
		}
	}
	i.cfg.Meter.Committed(len(all), stored, duplicates, now.Sub(began))
}
