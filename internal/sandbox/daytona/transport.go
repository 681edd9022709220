package daytona

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

// transport carries every call to Daytona: it obeys rate limits, and asks again where a read
// got no good answer. A create or an execution is never repeated here.
type transport struct {
	base  http.RoundTripper
	cfg   Config
	mu    sync.Mutex
	until map[lane]time.Time // before which no call of a kind is made; guarded by mu
}

// lane is a kind of call that Daytona counts by itself.
type lane string

const (
	laneCreate    lane = "sandbox-create"
	laneLifecycle lane = "sandbox-lifecycle"
	laneRest      lane = "authenticated"
)

func laneOf(req *http.Request) lane {
	path := strings.TrimRight(req.URL.Path, "/")
	switch {
	case strings.Contains(path, "/toolbox/"):
		return laneRest
	case req.Method == http.MethodPost && strings.HasSuffix(path, "/sandbox"):
		return laneCreate
	case req.Method == http.MethodDelete, strings.HasSuffix(path, "/start"), strings.HasSuffix(path, "/activate"):
		return laneLifecycle
	}
	return laneRest
}

const readTries = 3

// RoundTrip sends req, as often as it may be sent.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	first := t.cfg.PollMin
	for try := 1; ; try++ {
		if err := t.await(req); err != nil {
			return nil, err
		}
		resp, err := t.send(req, try)
		limited := err == nil && resp.StatusCode == http.StatusTooManyRequests
		if limited && !t.block(laneOf(req), resp.Header) || !limited && !again(req, resp, err, try) || !replayable(req) {
			return resp, err
		}
		if resp != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
			_ = resp.Body.Close()
		}
		if !limited {
			if err := wait.For(req.Context(), first<<(try-1)); err != nil {
				return nil, err
			}
		}
	}
}

// CloseIdleConnections lets http.Client close those of the transport below.
func (t *transport) CloseIdleConnections() {
	if idle, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

func (t *transport) send(req *http.Request, try int) (*http.Response, error) {
	if try > 1 && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = body
	}
	return t.base.RoundTrip(req)
}

// again reports whether a read deserves another try.
func again(req *http.Request, resp *http.Response, err error, try int) bool {
	if req.Method != http.MethodGet || try >= readTries || req.Context().Err() != nil || req.Header.Get("Upgrade") != "" {
		return false
	}
	return err != nil || resp.StatusCode >= http.StatusInternalServerError
}

func replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// await waits until the lane is open.
func (t *transport) await(req *http.Request) error {
	for {
		t.mu.Lock()
		left := time.Until(t.until[laneOf(req)])
		t.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if err := wait.For(req.Context(), left); err != nil {
			return err
		}
	}
}

// block closes a lane for as long as the answer says; false if that is too long to wait here.
func (t *transport) block(l lane, h http.Header) bool {
	told := toldToWait(h, time.Now())
	if told > limitPatience {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := time.Now().Add(told); until.After(t.until[l]) {
		t.until[l] = until
	}
	return true
}

// toldToWait is the longest wait that the headers of a rate limit ask for: Retry-After, that of
// any kind, and where there is none the reset of a kind that has nothing left.
func toldToWait(h http.Header, now time.Time) time.Duration {
	longest := time.Duration(-1)
	for key, values := range h {
		key = strings.ToLower(key)
		if key == "retry-after" || strings.HasPrefix(key, "retry-after-") {
			longest = max(longest, parseWait(values[0], now))
		}
	}
	if longest >= 0 {
		return longest
	}
	for key, values := range h {
		kind, ok := strings.CutPrefix(strings.ToLower(key), "x-ratelimit-reset-")
		if left := h.Get("X-RateLimit-Remaining-" + kind); ok && (left == "" || left == "0") {
			longest = max(longest, parseWait(values[0], now))
		}
	}
	if longest < 0 {
		return time.Second // a limit that says nothing
	}
	return longest
}

// parseWait reads seconds or a date; -1 if it is neither.
func parseWait(raw string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(strings.TrimSpace(raw), 64); err == nil && s >= 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(raw); err == nil {
		return max(at.Sub(now), 0)
	}
	return -1
}

func limitText(h http.Header) string {
	if len(h.Values("Retry-After")) == 0 && !strings.Contains(strings.ToLower(strings.Join(keys(h), " ")), "retry-after-") {
		return ""
	}
	return "again in " + toldToWait(h, time.Now()).Round(time.Second).String()
}

func keys(h http.Header) []string {
	out := make([]string, 0, len(h))
	for key := range h {
		out = append(out, key)
	}
	return out
}
