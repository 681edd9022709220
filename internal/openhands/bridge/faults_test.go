package bridge_test

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// sites are the requests of a turn.
var sites = map[string]func(r *http.Request) bool{
	"check":   func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/count") },
	"create":  func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/api/conversations" },
	"message": isMessage,
	"events":  func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/search") },
	"status":  isStatus,
}

func isStatus(r *http.Request) bool {
	return r.Method == http.MethodGet && path.Dir(r.URL.Path) == "/api/conversations" && path.Base(r.URL.Path) != "count"
}

// wrongs are what goes wrong with a request.
var wrongs = map[string]openhandstest.Fault{
	"500": {Status: http.StatusInternalServerError}, "502": {Status: http.StatusBadGateway}, "503": {Status: http.StatusServiceUnavailable},
	"lost answer": {Drop: true}, "no slot": {Save: true},
}

// faulty is a turn on a server where a number of requests of a site go wrong, one after the other.
type faulty struct {
	name string
	of   *openhandstest.Fake

	mu   sync.Mutex
	left int
}

func newFaulty(t *testing.T, site, wrong string, times int) *faulty {
	t.Helper()
	f := &faulty{name: fmt.Sprintf("%s: %s, %d times", site, wrong, times), left: times}
	f.of = openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Finish("done") })
	f.of.Fault = func(r *http.Request) openhandstest.Fault {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.left == 0 || !sites[site](r) {
			return openhandstest.Fault{}
		}
		f.left--
		return wrongs[wrong]
	}
	return f
}

func (f *faulty) unmet() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left
}

// With any of these faults, a turn ends by itself, and its message is in the conversation once: no attempt is replaced.
func TestFake_AHundredFaults(t *testing.T) {
	t.Parallel()
	var all []*faulty
	var begin sync.WaitGroup
	injected := 0
	for site := range sites {
		for wrong := range wrongs {
			for times := range most(site, wrong) {
				times++
				all, injected = append(all, newFaulty(t, site, wrong, times)), injected+times
			}
		}
	}
	require.GreaterOrEqual(t, injected, 100)
	ends := make([]func(), len(all))
	for at, f := range all {
		begin.Go(func() { ends[at] = f.turn(t) })
	}
	begin.Wait()
	for _, end := range ends {
		end()
	}
}

// most returns how often a request of a site can go wrong. A message that the server has is not sent again.
func most(site, wrong string) int {
	switch fault := wrongs[wrong]; {
	case fault.Save && site != "message":
		return 0
	case site == "message" && (fault.Save || fault.Drop):
		return 1
	}
	return 3
}

// turn begins a turn, and returns what checks its end.
func (f *faulty) turn(t *testing.T) func() {
	t.Helper()
	c := dial(t, bridge.Config{Vars: f.of.Vars()})
	c.open(t.TempDir())
	done := c.call("session/prompt", c.says("Begin."))
	return func() {
		end := done()
		require.Nil(t, end.Error, f.name)
		require.Contains(t, string(end.Result), `"end_turn"`, f.name)
		require.Equal(t, []string{"done"}, c.texts(), f.name)
		require.Len(t, f.of.Said(), 1, f.name)
		require.Zero(t, f.unmet(), f.name)
	}
}

// A server that gives no answer for a minute, at any time of a turn, costs the turn that minute.
func TestFake_FrozenForAMinute(t *testing.T) {
	t.Parallel()
	f := openhandstest.NewFake(t, func(t *openhandstest.Turn) { t.Text("I heard: " + t.Hear()) })
	var mu sync.Mutex
	frozen, unanswered := false, 0
	f.Fault = func(*http.Request) openhandstest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if frozen = frozen && unanswered < 6; frozen { // each is given up after 10 s
			unanswered++
		}
		return openhandstest.Fault{Hang: frozen}
	}
	c := dial(t, bridge.Config{Vars: f.Vars()})
	c.open(t.TempDir())
	done := c.call("session/prompt", c.says("Begin."))
	require.Eventually(t, func() bool { return len(f.Said()) == 1 }, patience, time.Millisecond)
	mu.Lock()
	frozen = true
	mu.Unlock()
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return unanswered == 6 }, patience, time.Millisecond)
	require.JSONEq(t, `{"outcome":"injected"}`, string(c.call("_session/steering", c.says("Go on."))().Result))
	end := done()
	require.Nil(t, end.Error)
	require.Contains(t, string(end.Result), `"end_turn"`)
	require.Len(t, f.Said(), 2)
}
