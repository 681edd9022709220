package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// TestReadersGoOnAtAnotherAPI has readers of both kinds at one API process while another takes
// the events in. Redis between them dies: that costs time only. The readers' process dies: they
// go on at the other one, the stream without a gap, the WebSocket, which has no past, from then on.
func TestReadersGoOnAtAnotherAPI(t *testing.T) {
	t.Parallel()
	address, killRedis := startRedis(t, t.TempDir())
	r := newRig(t, map[string]string{"REDIS_URL": "redis://" + address + "/0"})
	r.startAPI()
	port := strconv.Itoa(freePort(t))
	away := "http://127.0.0.1:" + port
	r.start("api2", map[string]string{"OMOI_API_PORT": port, "OMOI_API_URL": away}, "api")
	r.eventually("the other API answers", func() bool {
		_, err := apiclient.New(away, "").Info(context.Background())
		return err == nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	m := &mover{r: r, base: away}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() { m.again(ctx, m.stream) })
	reading.Go(func() { m.again(ctx, m.socket) })
	m.say(30)
	killRedis()
	m.say(30)
	m.move(r.env["OMOI_API_URL"])
	r.kill("api2")
	m.say(30)
	m.check()
}

// mover reads one sandbox at an API, and at another one when it is told to.
type mover struct {
	r      *rig
	posted int64

	mu   sync.Mutex
	base string
	seen []int64   // by the stream, over all of its connections
	told [][]int64 // by each WebSocket
}

const movedBox = "moved"

func (m *mover) move(base string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.base = base
}

func (m *mover) at() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.base
}

// say posts so many events, and waits until both readers have seen the last one. A WebSocket is
// told what comes when it is there: one more is posted as long as it has been told nothing.
func (m *mover) say(n int) {
	m.r.t.Helper()
	for range n {
		m.post()
	}
	m.r.eventually("both readers see the newest event", func() bool {
		all, deaf := m.standing()
		if deaf {
			m.post()
		}
		return all
	})
}

func (m *mover) post() {
	m.r.t.Helper()
	m.posted++
	body := fmt.Sprintf(`{"event_type":"agent.message","event_data":{"n":%d}}`, m.posted)
	req, err := http.NewRequestWithContext(m.r.t.Context(), http.MethodPost,
		m.r.env["OMOI_API_URL"]+"/api/v1/sandboxes/"+movedBox+"/events", strings.NewReader(body))
	require.NoError(m.r.t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(m.r.t, err)
	require.NoError(m.r.t, res.Body.Close())
	require.Equal(m.r.t, http.StatusOK, res.StatusCode)
}

// standing says whether both have seen all, and whether the newest WebSocket has been told nothing.
func (m *mover) standing() (all, deaf bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.told) == 0 {
		return false, false
	}
	told := m.told[len(m.told)-1]
	return m.newest(m.seen) && m.newest(told), len(told) == 0
}

func (m *mover) newest(numbers []int64) bool {
	return len(numbers) > 0 && numbers[len(numbers)-1] == m.posted
}

// again reads until that ends, as often as it takes.
func (m *mover) again(ctx context.Context, read func(ctx context.Context)) {
	for ctx.Err() == nil {
		read(ctx)
		pause(ctx, 20*time.Millisecond)
	}
}

func (m *mover) stream(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.at()+"/api/v1/sandboxes/"+movedBox+"/stream", http.NoBody)
	if err != nil {
		return
	}
	m.mu.Lock()
	if n := len(m.seen); n > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(m.seen[n-1], 10))
	}
	m.mu.Unlock()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		var e apiclient.Event
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is && json.Unmarshal([]byte(data), &e) == nil && e.Sequence > 0 {
			m.mu.Lock()
			m.seen = append(m.seen, e.Sequence)
			m.mu.Unlock()
		}
	}
}

func (m *mover) socket(ctx context.Context) {
	url := strings.Replace(m.at(), "http", "ws", 1) + "/api/v1/ws/events?entity_types=sandbox&entity_ids=" + movedBox
	conn, res, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return
	}
	if res.Body != nil {
		defer res.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	m.mu.Lock()
	m.told = append(m.told, nil)
	m.mu.Unlock()
	for {
		var frame struct {
			Payload struct {
				N int64 `json:"n"`
			} `json:"payload"`
		}
		if wsjson.Read(ctx, conn, &frame) != nil {
			return
		}
		m.hear(frame.Payload.N)
	}
}

func (m *mover) hear(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := len(m.told) - 1; n > 0 {
		m.told[last] = append(m.told[last], n)
	}
}

// check holds what was seen against what was posted.
func (m *mover) check() {
	t := m.r.t
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, n := range m.seen {
		require.EqualValues(t, i+1, n, "the stream over both processes")
	}
	require.Len(t, m.seen, int(m.posted))
	require.Greater(t, len(m.told), 1, "WebSockets of both processes")
	for _, stretch := range m.told {
		for i, n := range stretch {
			require.EqualValues(t, stretch[0]+int64(i), n, "one WebSocket")
		}
	}
}
