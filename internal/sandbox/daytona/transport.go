package daytona

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

// transport sends all requests to Daytona, and waits for rate limits. transport retries no other failure: poll and
// Temporal do.
type transport struct{ base http.RoundTripper }

// RoundTrip sends req, and again after each rate-limit wait, if the wait is at most [limitPatience], ends before the
// deadline of the request, and the body can be sent again.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	for {
		resp, err := t.base.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests {
			return resp, err
		}
		told := toldToWait(resp.Header, time.Now())
		if end, ok := req.Context().Deadline(); told > limitPatience || ok && time.Until(end) < told || !replayable(req) {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // allows the reuse of the connection
		_ = resp.Body.Close()
		if err := wait.For(req.Context(), told); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			req = req.Clone(req.Context())
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

func replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// toldToWait returns the longest wait in the headers Retry-After and Retry-After-*; one second without such a header.
func toldToWait(h http.Header, now time.Time) time.Duration {
	longest := time.Duration(-1)
	for key, values := range h {
		key = strings.ToLower(key)
		if key == "retry-after" || strings.HasPrefix(key, "retry-after-") {
			longest = max(longest, parseWait(values[0], now))
		}
	}
	if longest < 0 {
		return time.Second
	}
	return longest
}

// parseWait parses seconds or a date; -1 if raw is neither.
func parseWait(raw string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(strings.TrimSpace(raw), 64); err == nil && s >= 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(raw); err == nil {
		return max(at.Sub(now), 0)
	}
	return -1
}
