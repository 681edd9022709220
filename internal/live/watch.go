package live

import (
	"sync"

	"github.com/omoi-dev/omoi/internal/wait"
)

// maxWatched is how many topics a watch remembers; of more it knows only that there are more.
const maxWatched = 4096

// Watch collects the topics that were woken. See [Local.Watch].
type Watch struct {
	// Ready is ready after a wake-up of any topic. It is never closed.
	Ready <-chan struct{}

	ready  chan struct{}
	mu     sync.Mutex
	topics map[string]struct{}
	missed bool
}

// Watch begins to collect the topics of all wake-ups; the function ends it.
func (l *Local) Watch() (*Watch, func()) {
	w := &Watch{ready: make(chan struct{}, 1), topics: map[string]struct{}{}}
	w.Ready = w.ready
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watches[w] = struct{}{}
	return w, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watches, w)
	}
}

// Take answers the topics that were woken since it was asked last. If missed, there may
// have been any others.
func (w *Watch) Take() (topics []string, missed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for topic := range w.topics {
		topics = append(topics, topic)
	}
	missed = w.missed
	w.missed = false
	clear(w.topics)
	return topics, missed
}

func (w *Watch) add(topic string) {
	w.mu.Lock()
	if len(w.topics) < maxWatched {
		w.topics[topic] = struct{}{}
	} else {
		w.missed = true
	}
	w.mu.Unlock()
	wait.Notify(w.ready)
}

func (w *Watch) addAll() {
	w.mu.Lock()
	w.missed = true
	w.mu.Unlock()
	wait.Notify(w.ready)
}
