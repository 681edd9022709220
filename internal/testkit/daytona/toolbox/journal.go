package toolbox

import (
	"sync"
	"time"
)

// stream says where a stretch of a log came from; three of it are its mark.
type stream byte

const (
	stdout stream = 1
	stderr stream = 2
)

// journal is the output of one command, from its beginning.
type journal struct {
	mu      sync.Mutex
	marked  []byte // every stretch after its mark
	plain   []byte // all without marks
	split   [3][]byte
	writers int
	closed  bool
	changed chan struct{} // closed and made anew at every change
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

func (j *journal) note() {
	close(j.changed)
	j.changed = make(chan struct{})
}

func (j *journal) add(from stream, line []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.marked = append(append(j.marked, byte(from), byte(from), byte(from)), line...)
	j.plain = append(j.plain, line...)
	j.split[from] = append(j.split[from], line...)
	j.note()
}

// open counts those who may still write.
func (j *journal) open(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writers += n
	j.note()
}

// close ends it, for followers too.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.note()
}

// view is what there is after a byte, and a channel that closes when there may be more.
func (j *journal) view(marked bool, after int) (rest []byte, closed bool, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := j.plain
	if marked {
		all = j.marked
	}
	return all[min(after, len(all)):len(all):len(all)], j.closed, j.changed
}

func (j *journal) texts() (output, out, err string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return string(j.marked), string(j.split[stdout]), string(j.split[stderr])
}

// settle waits until the output of an ended command has arrived. What it left in the
// background may write on: that is not waited for long.
func (j *journal) settle() {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	for {
		j.mu.Lock()
		writers, changed := j.writers, j.changed
		j.mu.Unlock()
		if writers <= 0 {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		}
	}
}
