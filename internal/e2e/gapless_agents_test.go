package e2e_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spool"
)

// teller is an agent outside: the reporter of omoi-agent over its spool. It dies and begins
// again over the same spool now and then.
type teller struct {
	p               *proof
	name, box, task string
	rng             *rand.Rand
	said, acked     atomic.Int64
	deaths          int
	apart           bool   // a process of its own, which is killed
	spool           string // its name on the wire at the end
}

// said is what the n-th event of a speaker is.
type saying struct {
	kind string
	text string
	diff string // large; most have none
}

// sayingOf is the n-th event of total of somebody, which depends on nothing else.
func sayingOf(seed uint64, box string, n, total int) saying {
	rng := rand.New(rand.NewPCG(seed^uint64(len(box)), uint64(n)))
	s := saying{kind: "agent.tool_use", text: box + " " + strings.Repeat(strconv.FormatUint(rng.Uint64(), 36), rng.IntN(20))}
	switch {
	case n == 1:
		s.kind = "agent.started"
	case n == total:
		s.kind = "agent.completed"
	case rng.IntN(60) == 0:
		s.kind, s.diff = "agent.file_edited", strings.Repeat(s.text, 1+60_000/len(s.text))
	case rng.IntN(4) == 0:
		s.kind = "agent.message"
	}
	return s
}

func (s saying) data(n int) map[string]any {
	data := map[string]any{"n": n, "text": s.text, "success": true}
	if s.diff != "" {
		data["file_path"], data["full_diff"] = "a.go", s.diff
	}
	return data
}

// run says everything, in as many lives as it takes.
func (a *teller) run() {
	for n := 1; n <= a.p.events && a.p.life.Err() == nil; {
		if a.apart {
			n = a.liveApart(n)
			continue
		}
		n = a.live(n)
	}
}

// live speaks from n on until death, which comes after some events, or until all is
// acknowledged; it answers what is to be said next.
func (a *teller) live(n int) int {
	job := a.job()
	sp, err := spool.Open(job.Spool, spool.Config{})
	if err != nil {
		a.p.t.Errorf("%s: %v", a.name, err)
		return a.p.events + 1
	}
	defer sp.Close()
	line, err := apiclient.New(apiclient.Config{APIURL: a.p.net.URL(), SandboxID: a.box, Timeout: 3 * time.Second})
	if err != nil {
		a.p.t.Errorf("%s: %v", a.name, err)
		return a.p.events + 1
	}
	defer line.Close()
	rep := reporter.New(job.patience(), sp, witness{line, a}, slog.New(slog.DiscardHandler))
	life, die := context.WithCancel(a.p.life)
	ended := make(chan error, 1)
	go func() { ended <- rep.Run(life) }()
	for last := n + a.rng.IntN(a.p.events); n <= min(last, a.p.events) && a.p.gate.pass(life, n, a.p.events); n++ {
		said := sayingOf(a.p.seed, a.box, n, a.p.events)
		rep.Emit(said.kind, said.data(n))
		a.said.Store(int64(n))
	}
	if n > a.p.events {
		_ = rep.Flush(life) // it fails at the end of the proof's life only, which is told
	}
	die()
	<-ended
	a.deaths++
	a.acked.Store(sp.Acked())
	a.spool, _ = sp.ID()
	return n
}

// witness notes what the reporter is answered.
type witness struct {
	*apiclient.Client

	a *teller
}

func (w witness) Post(ctx context.Context, path string, body []byte, compress bool) (apiclient.Answer, error) {
	answer, err := w.Client.Post(ctx, path, body, compress)
	if err == nil {
		w.a.p.saw(w.a.name, answer.Status, answer.RetryAfter > 0, answer.Body)
	}
	return answer, err
}

// poster sends single posts, each again until one is answered. With keys every event is
// stored once; without, as old workers post, at least once.
type poster struct {
	p     *proof
	box   string
	keyed bool
	rng   *rand.Rand
	// acknowledged are the ids that were answered for the n-th event, in order.
	acknowledged [][]string
}

func (c *poster) run() {
	for n := 1; n <= c.p.posts && c.p.gate.pass(c.p.life, n, c.p.posts); n++ {
		var ids []string
		for times := 1 + c.rng.IntN(2); len(ids) < times && c.p.life.Err() == nil; {
			if id := c.post(n); id != "" {
				ids = append(ids, id)
				continue
			}
			pause(c.p.life, time.Duration(1+c.rng.IntN(50))*time.Millisecond)
		}
		c.acknowledged = append(c.acknowledged, ids)
	}
}

// post tries once. Half of the keys stand in the header, half in the body.
func (c *poster) post(n int) (id string) {
	event := map[string]any{"event_type": "agent.tool_use", "source": "agent", "event_data": map[string]any{"n": n, "text": c.text(n)}}
	header := http.Header{}
	key := c.box + " " + strconv.Itoa(n)
	switch {
	case c.keyed && n%2 == 0:
		header.Set("Idempotency-Key", key)
	case c.keyed:
		event["client_event_id"] = key
	}
	var got struct {
		EventID string `json:"event_id"`
	}
	status, body, err := c.p.ask(c.box, http.MethodPost, "/api/v1/sandboxes/"+c.box+"/events", header, event)
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &got) != nil {
		return ""
	}
	if got.EventID == "" {
		c.p.t.Errorf("%s: event %d was taken and has no id: %s", c.box, n, body)
	}
	return got.EventID
}

func (c *poster) text(n int) string { return sayingOf(c.p.seed, c.box, n, c.p.posts).text }
