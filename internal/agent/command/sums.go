package command

import (
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// again forgets what was of one run of the program: another one begins.
func (r *recorder) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.Spent, r.now = r.place.Spent.plus(r.now), spent{}
	r.outcome, r.ended, r.said, r.begun, r.rounds = nil, nil, "", false, false
	if r.env.Config.Continuous {
		r.turns = r.place.Turn
	}
	select {
	case <-r.full:
	default:
	}
	select {
	case <-r.told:
	default:
	}
}

// save notes how far the work is, and until when its time is counted.
func (r *recorder) save(since time.Duration) (until time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	worked := (uptime.Now() - since).Truncate(time.Millisecond)
	r.place.WorkedMS += worked.Milliseconds()
	kept := *r.place
	kept.Spent = kept.Spent.plus(r.now)
	if err := kept.save(); err != nil {
		r.env.Log.Warn("a restart would not know how far this went", slog.Any("error", err))
	}
	return since + worked
}

// standing returns the current state of the run.
func (r *recorder) standing() continuous.Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.place.Spent.plus(r.now)
	return continuous.Standing{
		Cost: all.Cost, Bill: all.data(), Session: r.env.SessionID, Turns: r.place.Turn, Files: r.place.Files, Said: r.said,
	}
}

// tell takes the output for what a program said that has no words of its own.
func (r *recorder) tell(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == "" {
		r.said = text
	}
}
