package daytona_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
	"github.com/omoi-dev/omoi/internal/testkit/daytona/openapitest"
)

func TestDescriptionsAreHere(t *testing.T) {
	t.Parallel()
	if openapitest.Described() == "" {
		t.Skip("SKIPPED: nothing was held against Daytona's descriptions; set OMOI_DAYTONA_OPENAPI to their folder")
	}
}

func TestSandboxLivesAndEnds(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	made := b.api(200, "POST /sandbox", object{
		"name": "one", "snapshot": "ai-agent-dev-light", "labels": object{"owner": "me"}, "env": object{"GIVEN": "a b"},
		"autoDeleteInterval": 0,
	})
	id := made["id"].(string)
	require.Equal(t, "started", made["state"])
	require.EqualValues(t, 4, made["memory"], "the snapshot's own")
	require.Equal(t, id, b.api(200, "GET /sandbox/one", nil)["id"])
	toolbox := made["toolboxProxyUrl"].(string) + "/" + id
	code, output := b.run(toolbox, `echo "$GIVEN" "$USER"; exit 3`)
	require.Equal(t, 3, code)
	require.Equal(t, "a b daytona\n", output)
	b.api(409, "POST /sandbox", object{"name": "one"})
	require.Equal(t, "destroying", b.api(200, "DELETE /sandbox/one", nil)["state"])
	b.until(id, "destroyed")
	b.api(404, "DELETE /sandbox/"+id, nil)
	require.Empty(t, b.Boxes())
}

func TestCreateIsJudged(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{Snapshots: []daytonatest.Snapshot{
		{Name: "here"}, {Name: "there", Regions: []string{"eu"}}, {Name: "asleep", Inactive: true},
	}})
	build := object{"dockerfileContent": "FROM debian\n"}
	for name, in := range map[string]object{
		"no such snapshot":        {"snapshot": "other"},
		"snapshot is elsewhere":   {"snapshot": "there"},
		"snapshot is inactive":    {"snapshot": "asleep"},
		"snapshot and image":      {"snapshot": "here", "buildInfo": build},
		"resources of a snapshot": {"snapshot": "here", "cpu": 2},
		"no such region":          {"target": "moon"},
		"gpu":                     {"gpu": 1},
		"minutes below zero":      {"autoStopInterval": -1},
	} {
		refused := b.api(400, "POST /sandbox", in)
		require.NotEmpty(t, refused["message"], name)
	}
	require.Empty(t, b.Boxes())
	made := b.api(200, "POST /sandbox", object{"name": "image", "buildInfo": build, "cpu": 2, "memory": 4, "disk": 8})
	require.NotEqual(t, "started", made["state"], "an image is not waited for")
	require.EqualValues(t, 8, b.until("image", "started")["disk"])

	found := b.api(200, "GET /snapshots/asleep", nil)
	require.Equal(t, "inactive", found["state"])
	b.api(404, "POST /snapshots/asleep/activate", nil)
	b.api(200, "POST /snapshots/"+found["id"].(string)+"/activate", nil)
	b.api(400, "POST /snapshots/"+found["id"].(string)+"/activate", nil)
	b.box(object{"snapshot": "asleep"})
}

func TestChangesExcludeEachOther(t *testing.T) {
	t.Parallel()
	hour := time.Hour
	b := newBed(t, daytonatest.Options{
		CreateDelay: hour, StopDelay: hour, StartDelay: hour, DestroyDelay: hour, CreateWait: -1,
	})
	id := b.api(200, "POST /sandbox", object{"name": "one"})["id"].(string)
	refused := func(calls ...string) {
		for _, call := range calls {
			b.api(409, strings.Replace(call, "/", "/sandbox/one/", 1), nil)
		}
		b.api(409, "DELETE /sandbox/one", nil)
	}
	require.Equal(t, "creating", b.api(200, "GET /sandbox/one", nil)["state"])
	refused("POST /start", "POST /stop", "POST /archive")
	b.Advance(hour)
	b.until("one", "started")
	b.api(200, "POST /sandbox/one/start", nil)
	b.api(400, "POST /sandbox/one/archive", nil)
	require.Equal(t, "stopped", b.api(200, "POST /sandbox/one/stop", nil)["desiredState"])
	refused("POST /start", "POST /stop")
	b.Advance(hour)
	b.until("one", "stopped")
	b.api(400, "POST /sandbox/one/stop", nil)
	b.api(200, "POST /sandbox/one/archive", nil)
	b.until("one", "archived")
	b.api(200, "POST /sandbox/one/start", nil)
	refused("POST /stop")
	b.Advance(hour)
	b.until("one", "started")
	b.api(200, "DELETE /sandbox/one", nil)
	b.api(404, "GET /sandbox/one", nil)
	require.Equal(t, "destroying", b.api(200, "GET /sandbox/"+id, nil)["state"], "the name is free before it is gone")
	b.api(409, "DELETE /sandbox/"+id, nil)
	other := b.api(200, "POST /sandbox", object{"name": "one"})["id"]
	require.NotEqual(t, id, other)
	b.Advance(hour)
	b.until(id, "destroyed")
	require.Len(t, b.Boxes(), 1)
}

func TestStopKeepsFilesAndEndsProcesses(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	id, toolbox := b.box(object{"name": "one"})
	b.send(201, "POST", toolbox+"/process/session", object{"sessionId": "s"})
	b.exec(toolbox, "s", "echo kept > file; sleep 600", true)
	b.eventually("the file is there", func() bool { code, _ := b.run(toolbox, "test -s file"); return code == 0 })
	b.api(200, "POST /sandbox/one/stop", nil)
	b.until("one", "stopped")
	b.send(404, "GET", toolbox+"/version", nil)
	require.False(t, b.Boxes()[0].Running)
	b.api(200, "POST /sandbox/"+id+"/start", nil)
	b.until("one", "started")
	_, output := b.run(toolbox, "cat file")
	require.Equal(t, "kept\n", output)
	b.send(404, "GET", toolbox+"/process/session/s", nil)
	b.send(404, "GET", strings.Replace(toolbox, id, "one", 1)+"/version", nil)
}

func TestClocksOfMinutes(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	idle, _ := b.box(object{"name": "idle"})
	_, busy := b.box(object{"name": "busy"})
	b.box(object{"name": "kept", "autoStopInterval": 0})
	passing, _ := b.box(object{"name": "passing", "autoDeleteInterval": 0})
	short, _ := b.box(object{"name": "short", "autoStopInterval": 0, "ttlMinutes": 20})
	b.Advance(10 * time.Minute)
	b.api(201, "POST /sandbox/"+idle+"/last-activity", nil)
	b.api(404, "POST /sandbox/idle/last-activity", nil)
	b.send(200, "GET", busy+"/version", nil)
	b.Advance(6 * time.Minute)
	b.until(passing, "destroyed")
	require.Equal(t, "started", b.api(200, "GET /sandbox/idle", nil)["state"], "it was kept alive")
	b.Advance(5 * time.Minute)
	b.until(short, "destroyed")
	b.Advance(16 * time.Minute) // an answer may come before its request counts as over
	b.until("idle", "stopped")
	b.until("busy", "stopped")
	require.Equal(t, "started", b.api(200, "GET /sandbox/kept", nil)["state"])

	b.api(200, "POST /sandbox/idle/autodelete/30", nil)
	b.Advance(31 * time.Minute)
	b.until(idle, "destroyed")
	b.api(200, "GET /sandbox/busy", nil)
	kept := b.api(200, "POST /sandbox/kept/ttl/5", nil)
	require.NotEmpty(t, kept["autoDestroyAt"])
	require.Empty(t, b.api(200, "POST /sandbox/kept/ttl/0", nil)["autoDestroyAt"])
	b.api(200, "POST /sandbox/kept/autostop/1", nil)
	b.Advance(time.Minute)
	b.until("kept", "stopped")
}

// An open stream keeps a sandbox from stopping; a poll that says so does not.
func TestActivity(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{Quiet: time.Millisecond})
	_, toolbox := b.box(object{"name": "followed"})
	b.send(201, "POST", toolbox+"/process/session", object{"sessionId": "s"})
	command := b.exec(toolbox, "s", "echo begun; while [ ! -e go ]; do sleep 0.01; done", true)["cmdId"].(string)
	conn := b.follow(toolbox+"/process/session/s/command/"+command+"/logs", b.header)
	_, _, err := conn.Read(t.Context())
	require.NoError(t, err)
	_, polled := b.box(object{"name": "polled"})
	b.Advance(14 * time.Minute)
	b.header.Set("X-Daytona-Skip-Last-Activity-Update", "true")
	b.send(200, "GET", polled+"/version", nil)
	b.Advance(2 * time.Minute)
	b.until("polled", "stopped")
	require.Equal(t, "started", b.api(200, "GET /sandbox/followed", nil)["state"])
	b.run(toolbox, "touch go")
	_, end := b.drain(conn)
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(end))
}

func TestListLagsAndPages(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{ListLag: time.Minute})
	for i := range 5 {
		b.api(200, "POST /sandbox", object{
			"name": fmt.Sprintf("box-%d", i), "labels": object{"n": strconv.Itoa(i % 2), "all": "yes"},
			"buildInfo": object{"dockerfileContent": "FROM x"},
		})
	}
	names := func(query string) (all []string) {
		for cursor := ""; ; {
			page := b.api(200, "GET /sandbox?"+query+"&cursor="+url.QueryEscape(cursor), nil)
			for _, item := range page["items"].([]any) {
				require.NotContains(t, item, "env")
				all = append(all, item.(object)["name"].(string))
			}
			if page["nextCursor"] == nil {
				return all
			}
			cursor = page["nextCursor"].(string)
		}
	}
	require.Empty(t, names("limit=2"), "a list lags")
	for i := range 5 {
		b.until(fmt.Sprintf("box-%d", i), "started")
	}
	b.Advance(time.Minute)
	require.Equal(t, []string{"box-0", "box-1", "box-2", "box-3", "box-4"}, names("limit=2&sort=name&order=asc"))
	require.Len(t, names("limit=2"), 5)
	require.Equal(t, []string{"box-3", "box-1"},
		names("sort=name&order=desc&labels="+url.QueryEscape(`{"n":"1","all":"yes"}`)))
	require.Equal(t, []string{"box-4"}, names("name=BOX-4"))
	require.Empty(t, names("states=stopped"))
	b.api(400, "GET /sandbox?limit=0", nil)
	b.api(400, "GET /sandbox?labels=x", nil)
	b.api(400, "GET /sandbox?cursor=x", nil)

	replaced := b.api(200, "PUT /sandbox/box-0/labels", object{"labels": object{"new": "yes"}})
	require.Equal(t, object{"new": "yes"}, replaced["labels"])
	b.api(200, "DELETE /sandbox/box-1", nil)
	require.Len(t, names("limit=2"), 5, "what is gone still shows")
	b.eventually("it is gone", func() bool { return len(b.Boxes()) == 4 })
	b.Advance(time.Minute)
	require.Len(t, names("labels="+url.QueryEscape(`{"all":"yes"}`)), 3)
}

func TestKeyIsAskedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	_, toolbox := b.box(object{})
	require.Equal(t, b.api(200, "GET /config", nil)["proxyToolboxUrl"],
		strings.TrimSuffix(toolbox, toolbox[strings.LastIndex(toolbox, "/"):]))
	b.api(200, "GET /api-keys/current", nil)
	b.api(200, "GET /regions", nil)
	for _, header := range []http.Header{{}, {"Authorization": {"Bearer other"}}, {"Authorization": {b.Key()}}} {
		b.header = header
		b.api(200, "GET /config", nil)
		require.Equal(t, "Unauthorized", b.api(401, "GET /sandbox", nil)["error"])
		require.Equal(t, "DAYTONA_PROXY", b.send(401, "GET", toolbox+"/version", nil)["source"])
		b.send(401, "GET", strings.TrimSuffix(b.URL(), "/api")+"/emulator/faults", nil)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	limits := map[daytonatest.Kind]daytonatest.RateLimit{} //nolint:exhaustive // the rest is as it is
	limits[daytonatest.KindCreate] = daytonatest.RateLimit{Calls: 1, Per: time.Minute}
	limits[daytonatest.KindFailedAuth] = daytonatest.RateLimit{Calls: 1, Per: time.Minute}
	b := newBed(t, daytonatest.Options{Limits: limits})
	ask := func(want int, body string) http.Header {
		status, header, text, err := b.try("POST", b.URL()+"/sandbox", strings.NewReader(body), "application/json")
		require.NoError(t, err)
		require.Equal(t, want, status, string(text))
		return header
	}
	header := ask(400, `{"snapshot":"none"}`)
	require.Equal(t, "1", header.Get("X-Ratelimit-Limit-Sandbox-Create"))
	require.Equal(t, "0", header.Get("X-Ratelimit-Remaining-Sandbox-Create"))
	require.Equal(t, "60", header.Get("X-Ratelimit-Reset-Sandbox-Create"))
	header = ask(429, `{"snapshot":"none"}`)
	require.NotEmpty(t, header.Get("Retry-After-Sandbox-Create"))
	require.Empty(t, header.Get("Retry-After"))
	b.api(200, "GET /sandbox", nil)
	b.Advance(time.Minute)
	ask(400, `{"snapshot":"none"}`)
	b.header = http.Header{}
	ask(401, "")
	require.NotEmpty(t, ask(429, "").Get("Retry-After"))
}
