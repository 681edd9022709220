package e2e_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/assert"
)

// watcher follows an agent by WebSocket through the bad network. That has no past: what comes
// while it is cut off is not told. What one connection tells has no gap.
type watcher struct {
	p         *proof
	a         *teller
	rng       *rand.Rand
	stretches [][]sight // of each connection
}

// run follows until everything is said.
func (w *watcher) run() {
	for w.p.speaking.Err() == nil && w.p.life.Err() == nil {
		w.stretches = append(w.stretches, nil)
		w.connect()
		pause(w.p.life, time.Duration(1+w.rng.IntN(30))*time.Millisecond)
	}
}

func (w *watcher) connect() {
	ctx, leave := context.WithCancel(w.p.speaking)
	defer leave()
	const longest = 45 * time.Second // the server pings after 30 s
	silence := time.AfterFunc(longest, leave)
	defer silence.Stop()
	address := strings.Replace(w.p.net.URL(), "http", "ws", 1) + "/api/v1/ws/events?entity_types=sandbox&entity_ids=" + url.QueryEscape(w.a.box)
	conn, res, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: w.p.client})
	if err != nil {
		return
	}
	if res.Body != nil {
		defer res.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		var frame struct {
			Payload json.RawMessage `json:"payload"`
		}
		if wsjson.Read(ctx, conn, &frame) != nil {
			return
		}
		silence.Reset(longest)
		w.note(frame.Payload)
	}
}

// note keeps what the agent said; a ping and what the bus says of its sandbox are passed over.
func (w *watcher) note(payload json.RawMessage) {
	var said struct {
		Kind string `json:"original_event_type"`
		N    int64  `json:"n"`
	}
	if json.Unmarshal(payload, &said) == nil && said.N > 0 {
		last := len(w.stretches) - 1
		w.stretches[last] = append(w.stretches[last], sightOf(said.N, said.Kind, payload))
	}
}

// checkWatchers holds each stretch to what is stored from its first event on.
func (p *proof) checkWatchers() {
	p.t.Helper()
	seen, connections := 0, 0
	for _, w := range p.watchers {
		stored := p.storedIn(w.a.box)
		for _, stretch := range w.stretches {
			if len(stretch) == 0 {
				continue
			}
			seen, connections = seen+len(stretch), connections+1
			from := int(stretch[0].Sequence) - 1
			same(p, "websocket of "+w.a.box+", one connection against stored", stored[from:min(from+len(stretch), len(stored))], stretch)
		}
	}
	assert.Positive(p.t, seen, "events that were told by websockets")
	p.t.Logf("websockets told %d events over %d connections", seen, connections)
}
