package daytona_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

func TestSlowCreate(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{CreateWait: -1})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.SlowCreate, Sandbox: "slow", Delay: time.Hour})
	b.api(200, "POST /sandbox", object{"name": "slow"})
	b.api(200, "POST /sandbox", object{"name": "quick"})
	b.until("quick", "started")
	require.Equal(t, "creating", b.api(200, "GET /sandbox/slow", nil)["state"])
	b.Advance(time.Hour)
	b.until("slow", "started")
}

// What fails while its maker waits is refused, and is there all the same.
func TestCreateEndsInError(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.CreateError, Times: 1, Message: "no luck"})
	refused := b.api(400, "POST /sandbox", object{"name": "one"})
	require.Equal(t, "no luck", refused["message"])
	left := b.api(200, "GET /sandbox/one", nil)
	require.Equal(t, "error", left["state"])
	require.Equal(t, "no luck", left["errorReason"])
	b.api(400, "POST /sandbox/one/start", nil)
	b.api(200, "DELETE /sandbox/one", nil)
	b.until(left["id"].(string), "destroyed")
	b.box(object{"name": "one"})
}

func TestLateCreate(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.LateCreate, Times: 1, Delay: time.Minute})
	_, _, _, err := b.try("POST", b.URL()+"/sandbox", strings.NewReader(`{"name":"late"}`), "application/json")
	require.Error(t, err)
	b.api(404, "GET /sandbox/late", nil)
	b.Advance(time.Minute)
	b.until("late", "started")
}

func TestLostAnswer(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.LostAnswer, Method: "POST", Path: "/api/sandbox", Times: 1})
	_, _, _, err := b.try("POST", b.URL()+"/sandbox", strings.NewReader(`{"name":"one"}`), "application/json")
	require.Error(t, err)
	made := b.until("one", "started")
	toolbox := made["toolboxProxyUrl"].(string) + "/" + made["id"].(string)

	id := b.Faults().Set(daytonatest.Fault{
		Switch: daytonatest.LostAnswer, Path: "/toolbox/*/process/execute", Sandbox: "one", Skip: 1,
	})
	b.run(toolbox, "touch before")
	_, _, _, err = b.try("POST", toolbox+"/process/execute",
		strings.NewReader(`{"command":"touch done"}`), "application/json")
	require.Error(t, err)
	b.Faults().Clear(id)
	code, _ := b.run(toolbox, "test -e before && test -e done")
	require.Zero(t, code, "it was done")
}

func TestAnswersInPlaceOfCalls(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	_, toolbox := b.box(object{"name": "one"})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.BadGateway, Path: "/toolbox/*/version", Times: 2})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.TooMany, Method: "DELETE", Times: 1, RetryAfter: 7})
	b.Faults().Set(daytonatest.Fault{
		Switch: daytonatest.TooMany, Method: "DELETE", Times: 1, RetryAfter: 8, Header: "Retry-After-sandbox-lifecycle",
	})
	b.Faults().Set(daytonatest.Fault{
		Switch: daytonatest.Answer, Path: "/api/sandbox/*", Times: 1, Status: 400, Message: "No available runners",
	})
	for range 2 {
		status, _, text, err := b.try("GET", toolbox+"/version", http.NoBody, "")
		require.NoError(t, err)
		require.Equal(t, 502, status)
		require.Empty(t, text)
	}
	b.send(200, "GET", toolbox+"/version", nil)
	_, header, _, err := b.try("DELETE", b.URL()+"/sandbox/one", http.NoBody, "")
	require.NoError(t, err)
	require.Equal(t, "7", header.Get("Retry-After"))
	require.Empty(t, header.Get("X-Emulator-Injected"))
	_, header, _, err = b.try("DELETE", b.URL()+"/sandbox/one", http.NoBody, "")
	require.NoError(t, err)
	require.Equal(t, "8", header.Get("Retry-After-Sandbox-Lifecycle"))
	require.Equal(t, "No available runners", b.api(400, "GET /sandbox/one", nil)["message"])
	require.Equal(t, "started", b.api(200, "GET /sandbox/one", nil)["state"], "nothing of it was done")
	require.Empty(t, b.Faults().On())
}

// The daemon dies; the sandbox stays started for a while, and then is stopped without a reason.
func TestDaemonDeath(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	_, toolbox := b.box(object{"name": "one"})
	other, _ := b.box(object{"name": "other"})
	b.send(201, "POST", toolbox+"/process/session", object{"sessionId": "s"})
	b.exec(toolbox, "s", "sleep 600", true)
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.DaemonDeath, Sandbox: "one", Times: 1})
	b.eventually("nothing of it runs", func() bool { return !b.Boxes()[0].Running })
	b.eventually("the toolbox is dead", func() bool {
		status, _, text, err := b.try("GET", toolbox+"/version", http.NoBody, "")
		return err == nil && status == 502 && len(text) == 0
	})
	require.Equal(t, "started", b.api(200, "GET /sandbox/one", nil)["state"])
	b.Advance(2 * time.Minute)
	require.Empty(t, b.until("one", "stopped")["errorReason"])
	require.Equal(t, "started", b.api(200, "GET /sandbox/"+other, nil)["state"])
	b.api(200, "POST /sandbox/one/start", nil)
	b.until("one", "started")
	b.send(200, "GET", toolbox+"/version", nil)
}

func TestSnapshotFaults(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.InactiveSnapshot, Snapshot: "ai-agent-dev-light"})
	missing := b.Faults().Set(daytonatest.Fault{Switch: daytonatest.MissingSnapshot, Snapshot: "daytona-small"})
	b.api(404, "GET /snapshots/daytona-small", nil)
	b.api(400, "POST /sandbox", object{})
	b.Faults().Clear(missing)
	b.box(object{})
	b.api(400, "POST /sandbox", object{"snapshot": "ai-agent-dev-light"})
	found := b.api(200, "GET /snapshots/ai-agent-dev-light", nil)
	require.Equal(t, "inactive", found["state"])
	b.api(200, "POST /snapshots/"+found["id"].(string)+"/activate", nil)
	b.box(object{"snapshot": "ai-agent-dev-light"})
}

func TestStuckDelete(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	id, _ := b.box(object{"name": "one"})
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.StuckDelete})
	b.api(200, "DELETE /sandbox/one", nil)
	b.Advance(24 * time.Hour)
	require.Equal(t, "destroying", b.api(200, "GET /sandbox/"+id, nil)["state"])
	b.api(409, "DELETE /sandbox/"+id, nil)
	require.True(t, b.Boxes()[0].Running, "it costs money")
	b.Faults().Clear(string(daytonatest.StuckDelete))
	b.until(id, "destroyed")
}

func TestEgressBlocked(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	confined(t, b)
	links := func(in object) string {
		_, toolbox := b.box(in)
		_, output := b.run(toolbox,
			"cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' ' | sort | tr '\\n' ' '; cat /proc/net/tcp | wc -l")
		return output
	}
	require.Equal(t, "lo 1\n", links(object{"networkBlockAll": true}))
	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.EgressBlocked})
	require.Equal(t, "lo 1\n", links(object{}))
	b.Faults().Reset()
	require.NotEqual(t, "lo 1\n", links(object{}), "else it is this machine's network, with our own ports")
}

func TestSwitchesOverHTTP(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{CreateWait: -1})
	base := strings.TrimSuffix(b.URL(), "/api") + "/emulator"
	for name, bad := range map[string]object{
		"switch": {"switch": "other"}, "delay": {"switch": "slow_create", "delay": "-3s"},
		"times": {"switch": "slow_create", "times": -1},
		"skip":  {"switch": "slow_create", "skip": -1}, "retryAfter": {"switch": "too_many", "retryAfter": -1},
		"after":  {"switch": "dropped_stream", "after": -1},
		"status": {"switch": "answer", "status": 99}, "path": {"switch": "bad_gateway", "path": "/api/["},
		"2s": {"switch": "slow_create", "delay": true},
	} {
		require.Contains(t, b.send(400, "POST", base+"/faults", bad)["message"], name)
	}
	require.Empty(t, b.Faults().On())
	set := b.send(200, "POST", base+"/faults", object{"switch": "slow_create", "delay": "1h", "times": 1})
	require.Equal(t, []daytonatest.Fault{{
		ID: set["id"].(string), Switch: daytonatest.SlowCreate, Delay: time.Hour, Times: 1,
	}}, b.Faults().On())
	b.api(200, "POST /sandbox", object{"name": "one"})
	b.eventually("it was used", func() bool { return len(b.Faults().On()) == 0 })
	b.send(200, "POST", base+"/advance", object{"by": "1h"})
	b.until("one", "started")
	b.send(200, "POST", base+"/faults", object{"switch": "bad_gateway"})
	status, _, _, err := b.try("GET", b.URL()+"/config", http.NoBody, "")
	require.NoError(t, err)
	require.Equal(t, 502, status)
	b.send(200, "DELETE", base+"/faults/bad_gateway", nil)
	b.send(200, "DELETE", base+"/faults", nil)
	b.api(200, "GET /config", nil)
	b.send(200, "GET", base+"/sandboxes", nil)
}

func TestEverySwitchIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/DAYTONA.md")
	require.NoError(t, err)
	for _, name := range daytonatest.Switches() {
		require.Contains(t, string(text), "\n| `"+string(name)+"` | ")
	}
}
