package claude

import (
	"os"
	"time"

	"github.com/omoi-dev/omoi/internal/uptime"
)

// cost is what the attempt has cost so far.
func (r *recorder) cost() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	usd, _ := r.place.Spent.total()
	return usd
}

// beyond reports whether the attempt may spend no more.
func (r *recorder) beyond(limit float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Spent.beyond(limit)
}

// bill is what the attempt has cost so far, as the data of an event.
func (r *recorder) bill() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Spent.data()
}

// at is where the run stands now, while the program may still speak.
func (r *recorder) at() place {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.place
}

// said is what the model said last.
func (r *recorder) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastText
}

// trouble is what the provider said of its limits, and the error that was named last.
func (r *recorder) trouble() (limitInfo, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit, r.cause
}

// unreadable is what the program printed last that is no line of its own.
func (r *recorder) unreadable() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unread
}

// begun reports whether this process has begun the session.
func (r *recorder) begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inits > 0
}

// used are the turns that count against the limit.
func (r *recorder) used() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Turn - r.place.TurnsBefore
}

// calling reports whether a tool was called that has not answered.
func (r *recorder) calling() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tools) > 0
}

// behindIt reports whether tasks in the background have not ended.
func (r *recorder) behindIt() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.behind) > 0
}

// save notes how far the work is, and until when its time by [uptime.Now] is counted: what saving takes, and what is
// less than a millisecond, counts the next time.
func (r *recorder) save(since time.Duration) (until time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	worked := (uptime.Now() - since).Truncate(time.Millisecond)
	r.place.WorkedMS += worked.Milliseconds()
	return since + worked, r.place.save()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
