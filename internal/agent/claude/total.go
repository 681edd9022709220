package claude

import (
	"os"
)

// standing is the state of a run.
type standing struct {
	place

	cost  float64
	bill  map[string]any // the same, and tokens, as the data of an event
	said  string         // what the model said last
	used  int            // turns that count against the limit
	limit limitInfo      // what the provider said of its limits
	cause string         // the error that was named last

	unread  string // what the program printed last that is no line of its own
	begun   bool   // this process has begun the session
	calling bool   // a tool was called that has not answered
	behind  bool   // tasks in the background have not ended
}

// now returns the state of the run while the program may still report.
func (r *recorder) now() standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	usd, _ := r.place.Spent.total()
	return standing{
		place: *r.place, cost: usd, bill: r.place.Spent.data(), said: r.lastText, used: r.place.Turn - r.place.TurnsBefore,
		limit: r.limit, cause: r.cause, unread: r.unread, begun: r.inits > 0, calling: len(r.tools) > 0, behind: len(r.behind) > 0,
	}
}

// beyond reports whether the attempt may spend no more.
func (r *recorder) beyond(limit float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Spent.beyond(limit)
}

// save notes how far the work is.
func (r *recorder) save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.Count()
	return r.place.save()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
