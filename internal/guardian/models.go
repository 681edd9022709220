package guardian

import (
	"sync"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// models holds the model of each cycle that is under way here: its budget is that of the cycle.
type models struct {
	make func() supervise.Model

	mu  sync.Mutex
	now map[string]supervise.Model
}

// mostCycles bounds what cycles leave that nobody ends in this process.
const mostCycles = 8

func (m *models) of(cycleID string) supervise.Model {
	if m.make == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if one, ok := m.now[cycleID]; ok {
		return one
	}
	if m.now == nil || len(m.now) >= mostCycles {
		m.now = map[string]supervise.Model{}
	}
	m.now[cycleID] = m.make()
	return m.now[cycleID]
}

func (m *models) forget(cycleID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.now, cycleID)
}
