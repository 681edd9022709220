package live

import (
	"sync"

	"github.com/omoi-dev/omoi/internal/wait"
)

// maxWatched is the maximum number of topics in a watch; beyond that it only records that there are more.
const maxWatched = 4096

// Watch collects the topics of notifications. See [Local.Watch].
type Watch struct {
	// Ready is ready after a notification of any topic. It is never closed.
	Ready <-chan struct{}

	ready  chan struct{}
	mu     sync.Mutex
	topics map[string]struct{}
	missed bool
}

// Watch starts to collect the topics of all notifications; the function ends that.
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

// Take returns the topics since the previous call. If missed is true, there may have been any others.
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
