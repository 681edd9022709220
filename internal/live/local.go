package live

import (
	"sync"

	"github.com/omoi-dev/omoi/internal/wait"
)

// Local is a bus inside one process. Create it with [New].
type Local struct {
	mu     sync.Mutex
	topics map[string]map[chan struct{}]struct{}
	closed bool
	// watches collect the topics of notifications.
	watches map[*Watch]struct{}
}

// New returns a bus inside this process.
func New() *Local {
	return &Local{topics: map[string]map[chan struct{}]struct{}{}, watches: map[*Watch]struct{}{}}
}

// Wake implements [Bus].
func (l *Local) Wake(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for subscriber := range l.topics[topic] {
		wait.Notify(subscriber)
	}
	for watch := range l.watches {
		watch.add(topic)
	}
}

// WakeAll notifies every subscriber of every topic, since notifications may have been missed.
func (l *Local) WakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, subscribers := range l.topics {
		for subscriber := range subscribers {
			wait.Notify(subscriber)
		}
	}
	for watch := range l.watches {
		watch.addAll()
	}
}

// Subscribe implements [Bus].
func (l *Local) Subscribe(topic string) (<-chan struct{}, func()) {
	subscriber := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return subscriber, func() {}
	}
	if l.topics[topic] == nil {
		l.topics[topic] = map[chan struct{}]struct{}{}
	}
	l.topics[topic][subscriber] = struct{}{}
	return subscriber, func() { l.leave(topic, subscriber) }
}

// Close implements [Bus].
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	clear(l.topics)
	clear(l.watches)
	return nil
}

func (l *Local) leave(topic string, subscriber chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.topics[topic], subscriber)
	if len(l.topics[topic]) == 0 {
		delete(l.topics, topic)
	}
}
