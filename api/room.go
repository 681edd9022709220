package api

import (
	"net/http"
	"sync/atomic"

	"github.com/omoi-dev/omoi/internal/task"
)

// room bounds what the bodies of reports take together, from before they are read until they
// are answered: what a hanging database does not take must not pile up in memory.
type room struct {
	bytes int64
	taken atomic.Int64
}

const bodyRoom = 64 << 20

// enter takes the room that a request needs, of at most limit bytes; the caller leaves it.
// Where there is none the sender is to come again.
func (m *room) enter(r *http.Request, limit int64) (leave func(), err error) {
	need := needOf(r, limit)
	leave = func() { m.taken.Add(-need) }
	if taken := m.taken.Add(need); taken > m.bytes && taken > need {
		leave()
		return nil, task.Errorf(task.CodeUnavailable, "Too many events are waiting. Send the same again in a second.")
	}
	return leave, nil
}

// needOf is how much a request's body may need; packed ones grow by about ten times.
func needOf(r *http.Request, limit int64) int64 {
	const growth = 10
	switch length := r.ContentLength; {
	case length < 0:
		return limit
	case r.Header.Get("Content-Encoding") != "":
		return min(length*growth, limit)
	default:
		return min(length, limit)
	}
}
