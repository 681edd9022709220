package daytona

import (
	"maps"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Kind is one of the counters of the rate limit.
type Kind string

// The kinds. Every call with a key counts as authenticated; some count for one more.
const (
	KindAnonymous     Kind = "anonymous"
	KindFailedAuth    Kind = "failed-auth"
	KindAuthenticated Kind = "authenticated"
	KindCreate        Kind = "sandbox-create"
	KindLifecycle     Kind = "sandbox-lifecycle"
	KindList          Kind = "sandbox-list"
)

// RateLimit allows so many calls within a time.
type RateLimit struct {
	Calls int
	Per   time.Duration
}

func firstTier() map[Kind]RateLimit {
	return map[Kind]RateLimit{
		KindAnonymous: {100, time.Minute}, KindFailedAuth: {100, time.Minute}, KindAuthenticated: {10_000, time.Minute},
		KindCreate: {300, time.Minute}, KindLifecycle: {10_000, time.Minute}, KindList: {10_000, time.Minute},
	}
}

// limiter counts calls in windows that begin with the first of them.
type limiter struct {
	clock  *clock
	limits map[Kind]RateLimit

	mu      sync.Mutex
	windows map[Kind]window
}

type window struct {
	end  time.Time
	used int
}

func newLimiter(c *clock, own map[Kind]RateLimit) *limiter {
	limits := firstTier()
	maps.Copy(limits, own)
	return &limiter{clock: c, limits: limits, windows: make(map[Kind]window, len(limits))}
}

// count takes one call of a kind, says in the headers what is left, and whether it may go on.
func (l *limiter) count(kind Kind, header http.Header) error {
	limit := l.limits[kind]
	l.mu.Lock()
	now := l.clock.now()
	w := l.windows[kind]
	if !now.Before(w.end) {
		w = window{end: now.Add(limit.Per)}
	}
	w.used++
	l.windows[kind] = w
	l.mu.Unlock()
	reset := strconv.Itoa(int(math.Ceil(w.end.Sub(now).Seconds())))
	if w.used > limit.Calls {
		return tooMany(kind, reset, header)
	}
	header.Set("X-RateLimit-Limit-"+string(kind), strconv.Itoa(limit.Calls))
	header.Set("X-RateLimit-Remaining-"+string(kind), strconv.Itoa(limit.Calls-w.used))
	header.Set("X-RateLimit-Reset-"+string(kind), reset)
	return nil
}

func tooMany(kind Kind, reset string, header http.Header) error {
	no := &refusal{status: http.StatusTooManyRequests, message: "ThrottlerException: Too Many Requests"}
	if kind == KindFailedAuth {
		no.wait = reset
	} else {
		header.Set("Retry-After-"+string(kind), reset)
	}
	return no
}
