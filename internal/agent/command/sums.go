package command

import (
	"log/slog"
	"time"

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

// Cost is what the attempt has cost so far.
func (r *recorder) Cost() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Spent.Cost + r.now.Cost
}

// Bill is the same, and tokens, as the data of an event.
func (r *recorder) Bill() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Spent.plus(r.now).data()
}

// Session is that of the run.
func (r *recorder) Session() string { return r.env.SessionID }

// Turns is how many messages of a model there were.
func (r *recorder) Turns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Turn
}

// Files is how many were changed.
func (r *recorder) Files() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Files
}

// Said is what the program said last.
func (r *recorder) Said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said
}

// tell takes the output for what a program said that has no words of its own.
func (r *recorder) tell(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == "" {
		r.said = text
	}
}
