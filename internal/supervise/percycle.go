package supervise

import "sync"

// PerCycle holds the model of the newest cycle that is under way in this process: its budget is that of the cycle. It is safe for
// concurrent use.
type PerCycle[M any] struct {
	Make func() M // nil: there is no model

	mu    sync.Mutex
	cycle string
	model M
}

// Of returns the model of a cycle; zero if there is none.
func (p *PerCycle[M]) Of(cycleID string) M {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Make != nil && p.cycle != cycleID {
		p.cycle, p.model = cycleID, p.Make()
	}
	return p.model
}
