package ingest

import "time"

// IntakeMeter counts what an intake does. Its methods are called for every request and must
// cost next to nothing.
type IntakeMeter interface {
	// Committed is one transaction with what many requests sent.
	Committed(requests, stored, duplicates int, took time.Duration)
	// Waited is how long one request waited for its commit.
	Waited(d time.Duration)
	// TurnedAway is a request that was not queued.
	TurnedAway()
	// Lost are requests whose transaction failed.
	Lost(requests int)
}

// RelayMeter counts what a relay hands over. What is one of start, command, admitted, digest.
type RelayMeter interface {
	Sent(what string)
	// Failed is a try that is made again; what may be store, too.
	Failed(what string)
	Dropped(what string)
}

// What a relay hands over, as meters hear it.
const (
	whatStart    = "start"
	whatCommand  = "command"
	whatAdmitted = "admitted"
	whatDigest   = "digest"
	whatStore    = "store"
)

// Waiting is how many requests wait for a transaction now.
func (i *Intake) Waiting() (n int) {
	for _, lane := range i.lanes {
		n += len(lane)
	}
	return n
}

// measure tells the meter of a transaction that stored all of them.
func (i *Intake) measure(all []*waiter, outcomes []Outcome, began time.Time) {
	now := time.Now()
	stored, duplicates := 0, 0
	for n, w := range all {
		stored, duplicates = stored+outcomes[n].Stored, duplicates+outcomes[n].Duplicates
		i.cfg.Meter.Waited(now.Sub(w.since))
	}
	i.cfg.Meter.Committed(len(all), stored, duplicates, now.Sub(began))
}
