package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/faultproxy"
)

// gaplessAPIs is how many API processes take events in, each of which dies now and then.
const gaplessAPIs = 3

// size is how much a run of the proof does. OMOI_GAPLESS=full asks for the full one.
type size struct {
	agents, events int // omoi-agent's reporter, in this process
	boxed, doomed  int // real agents in sandboxes; the doomed ones besides are killed there
	posters, posts int // clients of single posts of each kind
	blows          int // how often something is killed or stopped
	readers        int // of each agent
	limit          time.Duration
}

func sizeOf(name string) size {
	if name == "full" {
		return size{agents: 50, events: 2000, boxed: 4, doomed: 2, posters: 6, posts: 400, blows: 48, readers: 2, limit: 25 * time.Minute}
	}
	return size{agents: 8, events: 200, boxed: 1, doomed: 1, posters: 2, posts: 30, blows: 9, readers: len(readerKinds()), limit: 10 * time.Minute}
}

// seedOf is OMOI_GAPLESS_SEED, or another one each time.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv("OMOI_GAPLESS_SEED")
	if given == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(given, 10, 64)
	require.NoError(t, err, "OMOI_GAPLESS_SEED")
	return seed
}

// proof is one run: who speaks, who reads, what breaks.
type proof struct {
	*rig
	size

	seed   uint64
	life   context.Context //nolint:containedctx // ends with the patience of the proof
	net    *faultproxy.Proxy
	direct []string            // base URLs of the APIs without the proxy
	env    []map[string]string // of the APIs
	redis  *server
	gate   *gate
	client *http.Client

	speaking context.Context  //nolint:containedctx // ends when everything is said
	heads    map[string]int64 // of every sandbox then
	drawn    atomic.Int64     // how often havoc has drawn
	stored   map[string][]sight

	tellers  []*teller
	boxes    []*boxedAgent
	posters  []*poster
	readers  []*reader
	watchers []*watcher

	mu       sync.Mutex
	statuses map[int]int    // of all answers
	strange  map[string]int // answers that nobody should get
}

// TestGapless is the proof of P2: agents report through a network that cuts, delays and
// resets, to API processes that are killed and stopped, over a PostgreSQL that crashes and
// a Redis that dies; some agents are killed in their sandboxes and tried again. Afterwards every event is stored once, in order, with what its agent
// said, and every reader has seen exactly that; those by WebSocket, whose connections have no past, a stretch
// of it by each.
func TestGapless(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	name := os.Getenv("OMOI_GAPLESS")
	t.Logf("again: OMOI_GAPLESS=%s OMOI_GAPLESS_SEED=%d go test ./internal/e2e -run '^TestGapless$' -count=1 -timeout 30m", name, seed)
	p := newProof(t, seed, sizeOf(name))
	p.begin()
	p.play()
	p.check()
}

func newProof(t *testing.T, seed uint64, s size) *proof {
	t.Helper()
	p := &proof{
		size: s, seed: seed, gate: newGate(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 20}},
		heads: map[string]int64{}, stored: map[string][]sight{}, statuses: map[int]int{}, strange: map[string]int{},
	}
	t.Cleanup(p.client.CloseIdleConnections)
	var addresses []string
	for range gaplessAPIs {
		port := strconv.Itoa(freePort(t))
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", port))
		p.direct = append(p.direct, "http://"+addresses[len(addresses)-1])
		p.env = append(p.env, map[string]string{"OMOI_API_PORT": port, "OMOI_API_URL": p.direct[len(p.direct)-1]})
	}
	var err error
	p.net, err = faultproxy.Start(faultproxy.Config{Seed: seed, Servers: addresses})
	require.NoError(t, err)
	t.Cleanup(p.net.Close)
	settings := map[string]string{
		"OMOI_API_CALLBACK_URL": p.net.URL(), "OMOI_TASK_HEARTBEAT_TIMEOUT": "20m", "OMOI_TASK_STARTUP_TIMEOUT": "20m",
		"OMOI_TASK_NO_WORK_TIMEOUT": "1h", "MAX_CONCURRENT_TASKS_PER_PROJECT": "200", "OMOI_RELAY_DIGEST_INTERVAL": "5s",
		"OMOI_TEST_MESSAGE_LEASE_DURATION": "5s", // many an answer with a message is lost on the way
	}
	if p.redis = newRedis(t); p.redis != nil {
		settings["REDIS_URL"] = "redis://" + p.redis.address + "/0"
	}
	p.rig = newRig(t, settings)
	var done context.CancelFunc
	p.life, done = context.WithTimeout(context.Background(), s.limit)
	t.Cleanup(done)
	return p
}

// begin starts the servers, and makes every sandbox while all is well.
func (p *proof) begin() {
	for i := range p.direct {
		p.startAPIOf(i)
	}
	p.api = apiclient.New(p.direct[0], "")
	p.awaitAPIs()
	p.startWorker()
	repo := p.repo()
	for i := range p.agents {
		p.tellers = append(p.tellers, &teller{p: p, name: "agent " + strconv.Itoa(i), task: p.outside(repo).ID, rng: p.random(i), apart: i%4 == 3})
	}
	for _, a := range p.tellers {
		a.box = p.agentOf(a.task, 1).box
	}
	for i := range p.size.posters {
		p.posters = append(p.posters, &poster{p: p, box: fmt.Sprintf("poster-%d", i), keyed: i%2 == 0, rng: p.random(1000 + i)})
	}
	p.boxAgents(repo)
	p.openReaders()
	for i, a := range p.tellers {
		p.watchers = append(p.watchers, &watcher{p: p, a: a, rng: p.random(9000 + i)})
	}
}

// random is a source of its own for everybody who draws.
func (p *proof) random(who int) *rand.Rand {
	return rand.New(rand.NewPCG(p.seed, uint64(who)))
}

// play lets everybody speak and read to the end while things break.
func (p *proof) play() {
	var speaking, reading sync.WaitGroup
	var spoken context.CancelFunc
	p.speaking, spoken = context.WithCancel(p.life)
	defer spoken()
	for _, a := range p.tellers {
		speaking.Go(a.run)
	}
	for _, a := range p.posters {
		speaking.Go(a.run)
	}
	for _, r := range p.readers {
		reading.Go(r.run)
	}
	for _, w := range p.watchers {
		reading.Go(w.run)
	}
	p.breakThings()
	p.attend(over(&speaking))
	p.awaitAPIs()
	p.release()
	p.readHeads()
	spoken()
	p.attend(over(&reading))
	p.t.Logf("network %v, answers %v", p.net.Fates(), p.statuses)
	if p.life.Err() != nil {
		speaking.Wait()
		reading.Wait()
		p.t.Fatal("the time is over\n" + p.standing())
	}
	for _, b := range p.boxes {
		b.ended(p.ends(b.task, task.StatusCompleted))
	}
}

// over tells whether all of a group are done.
func over(group *sync.WaitGroup) func() bool {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	return func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// readHeads notes how far every sandbox has come when all is said.
func (p *proof) readHeads() {
	rows, err := p.pool.Query(context.Background(), `SELECT id, last_sequence FROM sandboxes`)
	require.NoError(p.t, err)
	defer rows.Close()
	for rows.Next() {
		var box string
		var head int64
		require.NoError(p.t, rows.Scan(&box, &head))
		p.heads[box] = head
	}
	require.NoError(p.t, rows.Err())
}

// standing says how far everybody has come, for whoever looks at a run that did not end.
func (p *proof) standing() string {
	var b strings.Builder
	for _, a := range p.tellers {
		fmt.Fprintf(&b, "%s %s: said %d of %d, acknowledged %d\n", a.name, a.box, a.said.Load(), p.events, a.acked.Load())
	}
	for _, a := range p.posters {
		fmt.Fprintf(&b, "%s: posted %d of %d\n", a.box, len(a.acknowledged), p.posts)
	}
	for _, in := range p.boxes {
		t := p.task(in.task)
		fmt.Fprintf(&b, "boxed %s: %s, attempt %d: %s\n", in.task, t.Status, t.AttemptCount, t.Why)
	}
	for _, r := range p.readers {
		if !r.done {
			fmt.Fprintf(&b, "%s: seen %d events, last at %s\n", r.name(), len(r.seen), r.place)
		}
	}
	return b.String()
}

// saw counts an answer. Strange are those that say nothing of a network or server in trouble
// (a request that was half closed ends in its body or in its head),
// and a server in trouble that does not say when to come again.
func (p *proof) saw(who string, status int, retryAfter bool, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses[status]++
	half := status == http.StatusRequestTimeout || status == http.StatusBadRequest && string(body) == "400 Bad Request"
	if status != http.StatusOK && status != http.StatusBadGateway && !half && (status != http.StatusServiceUnavailable || !retryAfter) {
		p.strange[fmt.Sprintf("%s got %d: %.300s", who, status, body)]++
	}
}

// gate holds the speakers back, so that they are in mid-speech whenever something breaks.
type gate struct {
	mu      sync.Mutex
	open    float64 // which share of what they have to say they may say
	changed chan struct{}
}

func newGate() *gate { return &gate{changed: make(chan struct{})} }

func (g *gate) widen(share float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = share
	close(g.changed)
	g.changed = make(chan struct{})
}

// pass waits until the n-th of total may be said; false if life ends first.
func (g *gate) pass(life context.Context, n, total int) bool {
	for {
		g.mu.Lock()
		may, changed := float64(n) <= g.open*float64(total), g.changed
		g.mu.Unlock()
		if may {
			return life.Err() == nil
		}
		select {
		case <-life.Done():
			return false
		case <-changed:
		}
	}
}
