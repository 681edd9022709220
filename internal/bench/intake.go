package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// batchSize is how many events a batch has.
const batchSize = 50

// Goals of the intake, as multiples of what is beside them.
const (
	goalSingle  = 0.5  // of pgbench
	goalNaive   = 1.1  // of one INSERT a request
	goalBatch   = 5.0  // of pgbench
	goalCopy    = 1.0  // of COPY
	goalRepeats = 0.95 // of batches without repeats
)

// repeatEvery makes one batch of so many a repeat.
const repeatEvery = 100

// measureIntake compares how fast events are stored with how fast PostgreSQL takes the same
// rows by other means.
func measureIntake(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	t, err := newReplica(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	p, err := newEventSender(ctx, s)
	if err != nil {
		return err
	}
	ways := waysToStore(cfg.Spell, t, p)
	got, err := rounds(ctx, cfg.Rounds, t.empty, ways)
	if err != nil {
		return err
	}
	for _, w := range ways {
		if values := got[w.name]; len(values) > 0 {
			r.add(Row{What: "events stored: " + w.name, Measured: fmt.Sprintf("%.0f/s", median(values)), Value: median(values)})
		}
	}
	compareIntake(r, got)
	r.note("Ingest", storingNote, cfg.Rounds, cfg.Spell, s.durability(ctx))
	return p.measureLatency(ctx, cfg, r, t, got)
}

// The ways to store events.
const (
	plainRows    = "pgbench, single rows, 32 clients"
	guardedRows  = "pgbench, single rows with a deduplication key, 32 clients"
	counterRows  = "pgbench with a counter row, 32 clients"
	leastPosts   = "single posts to the minimal server, 32 connections"
	leastBatches = "batches of 50 to the minimal server, 32 connections"
	naivePosts   = "one INSERT per request, 32 connections"
	copiedRows   = "COPY in one session, with a deduplication key"
	singlePosts  = "single posts, 32 connections"
	guardedPosts = "single posts with IDs, 32 connections"
	batchPosts   = "batches of 50, 32 connections"
	repeatPosts  = "batches of 50, 1 % of them duplicates"
)

const storingNote = "%d rounds of %s for each way to store events, in turn, with empty tables and a checkpoint before each. A ratio is the median of the ratios of all rounds. %s. Posts go through the whole API with sandbox tokens: 200 sandboxes, events of about 350 bytes, log level info, all metrics. A single post without an ID is stored twice if it is sent twice; it is compared with rows that have one key. Batches and posts with IDs are deduplicated; they are compared with rows that have a second key. A duplicate is the last batch of its sender, sent again; it does not count as stored. The minimal server is net/http with one committer and one statement, and has no tokens, logs, limits, metrics or event types. It and the server with one INSERT per request have half of the processors, as omoi dev has. The client has one thread."

func waysToStore(spell time.Duration, t *replica, p *eventSender) []way {
	rows := func(script string) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) { return t.pgbench(ctx, script, spell) }
	}
	timed := func(f func(context.Context, time.Duration) (float64, error)) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) { return f(ctx, spell) }
	}
	batches := func(every int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) { return p.batches(ctx, spell, every) }
	}
	return []way{
		{plainRows, rows("single")},
		{singlePosts, timed(p.singles)},
		{counterRows, rows("counter")},
		{naivePosts, timed(t.naively)},
		{leastPosts, timed(t.leastly(1))},
		{guardedRows, rows("guarded")},
		{guardedPosts, timed(p.guarded)},
		{batchPosts, batches(0)},
		{copiedRows, timed(t.copyRows)},
		{leastBatches, timed(t.leastly(batchSize))},
		{repeatPosts, batches(repeatEvery)},
	}
}

func compareIntake(r *Report, got map[string][]float64) {
	r.add(
		ratio("single posts, relative to pgbench", got[singlePosts], got[plainRows], goalSingle),
		share("single posts, relative to pgbench with a counter row", got[singlePosts], got[counterRows]),
		ratio("single posts, relative to one INSERT per request", got[singlePosts], got[naivePosts], goalNaive),
		ratio("single posts with IDs, relative to pgbench with a deduplication key", got[guardedPosts],
			got[guardedRows], goalSingle),
		ratio("events in batches, relative to pgbench with a deduplication key", got[batchPosts], got[guardedRows], goalBatch),
		ratio("events in batches, relative to COPY with a deduplication key", got[batchPosts], got[copiedRows], goalCopy),
	)
	repeats := ratio("events in batches with 1 % duplicates, relative to batches without", got[repeatPosts],
		got[batchPosts], goalRepeats)
	repeats.Goal = "at least 0.95 times"
	r.add(repeats,
		share("single posts, relative to the minimal server", got[singlePosts], got[leastPosts]),
		share("single posts to the minimal server, relative to pgbench", got[leastPosts], got[plainRows]),
		share("events in batches, relative to the minimal server", got[batchPosts], got[leastBatches]))
}

// way is one way to store events; it answers events a second.
type way struct {
	name string
	run  func(ctx context.Context) (float64, error)
}

// rounds goes through all ways again and again.
func rounds(ctx context.Context, n int, before func(context.Context) error, ways []way) (map[string][]float64, error) {
	got := map[string][]float64{}
	for range n {
		for _, w := range ways {
			if err := before(ctx); err != nil {
				return got, err
			}
			value, err := w.run(ctx)
			if errors.Is(err, errNoPgbench) {
				continue
			}
			if err != nil {
				return got, fmt.Errorf("%s: %w", w.name, err)
			}
			got[w.name] = append(got[w.name], value)
		}
	}
	return got, nil
}

// ratio is a share that has a goal.
func ratio(what string, ours, theirs []float64, goal float64) Row {
	row := share(what, ours, theirs)
	row.Goal, row.Verdict = fmt.Sprintf("at least %.1f times", goal), NotMeasured
	if row.Value > 0 {
		row.Verdict = atLeast(row.Value, goal)
	}
	return row
}

// share is the median of the ratios within each round.
func share(what string, ours, theirs []float64) Row {
	row := Row{What: what, Measured: "pgbench is not installed"}
	if len(ours) == 0 || len(ours) != len(theirs) {
		return row
	}
	var shares []float64
	for n := range ours {
		shares = append(shares, ours[n]/theirs[n])
	}
	row.Value = median(shares)
	row.Measured = fmt.Sprintf("%.2f times", row.Value)
	return row
}

// durability says what a commit waits for.
func (s *server) durability(ctx context.Context) string {
	var fsync, commit, version string
	err := s.pool.QueryRow(
		ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('server_version')`,
	).Scan(&fsync, &commit, &version)
	if err != nil {
		return "The server did not say what a commit waits for"
	}
	return fmt.Sprintf("PostgreSQL %s with fsync %s and synchronous_commit %s", version, fsync, commit)
}

// eventSender posts events of sandboxes that exist.
type eventSender struct {
	*server

	boxes    []string
	tokens   []string
	requests [][]byte           // a single post to each sandbox
	first    [connections]int64 // of the next batch of each sender
	spells   int                // of posts with ids so far
}

func newEventSender(ctx context.Context, s *server) (*eventSender, error) {
	p := &eventSender{server: s}
	for n := range boxCount {
		id := "bench" + strconv.Itoa(n)
		p.boxes, p.tokens = append(p.boxes, id), append(p.tokens, s.ring.Mint(id))
		p.requests = append(p.requests, post(p.path(n), p.tokens[n], []byte(toolUse())))
	}
	_, err := s.pool.Exec(ctx, `INSERT INTO sandboxes (id, organization_id, provider, machine, state)
		SELECT unnest($1::text[]), (SELECT id FROM organizations LIMIT 1), 'bare', false, 'running'`, p.boxes)
	if err != nil {
		return nil, fmt.Errorf("make sandboxes: %w", err)
	}
	return p, nil
}

func toolUse() string { return `{"event_type":"agent.tool_use","event_data":` + eventData() + `}` }

func (p *eventSender) path(n int) string { return "/api/v1/sandboxes/" + p.boxes[n] + "/events" }

func (p *eventSender) singles(ctx context.Context, spell time.Duration) (float64, error) {
	if err := p.empty(ctx); err != nil {
		return 0, err
	}
	return flood(ctx, p.info.APIURL, spell, p.single)
}

// guarded posts events with ids, so that a repeat would be refused.
func (p *eventSender) guarded(ctx context.Context, spell time.Duration) (float64, error) {
	if err := p.empty(ctx); err != nil {
		return 0, err
	}
	p.spells++
	return flood(ctx, p.info.APIURL, spell, p.withIDs)
}

func (p *eventSender) withIDs(n int) caller {
	var id, body, request []byte
	box, made, prefix, rest := n, int64(0), fmt.Sprintf("%d-%d-", p.spells, n), toolUse()[1:]
	return func() []byte {
		box, made = (box+1)%boxCount, made+1
		id = strconv.AppendInt(append(id[:0], prefix...), made, 10)
		body = append(append(append(append(body[:0], `{"client_event_id":"`...), id...), `",`...), rest...)
		request = append(postHead(request[:0], p.path(box), p.tokens[box], len(body)), body...)
		return request
	}
}

// single makes the posts of one connection, to one sandbox after the other.
func (p *eventSender) single(n int) caller {
	return func() []byte {
		n++
		return p.requests[n%boxCount]
	}
}

// batches answers how many events were stored; one batch of every is a repeat, 0: none.
func (p *eventSender) batches(ctx context.Context, spell time.Duration, every int) (float64, error) {
	if err := p.empty(ctx); err != nil {
		return 0, err
	}
	perSecond, err := flood(ctx, p.info.APIURL, spell, func(n int) caller { return p.batch(n, every) })
	if every > 0 {
		perSecond *= 1 - 1/float64(every)
	}
	return batchSize * perSecond, err
}

// batch makes the batches of one connection, all of one sender.
func (p *eventSender) batch(n, every int) caller {
	head, made := `{"spool_id":"bench`+strconv.Itoa(n)+`","first":`, 0
	tail := `,"events":[` + strings.Repeat(toolUse()+",", batchSize-1) + toolUse() + "]}"
	var first, request []byte
	return func() []byte {
		if made++; every > 0 && made%every == 0 {
			p.first[n] -= batchSize
		}
		first = strconv.AppendInt(first[:0], p.first[n]+1, 10)
		p.first[n] += batchSize
		request = postHead(request[:0], p.path(n)+"/batch", p.tokens[n], len(head)+len(first)+len(tail))
		request = append(append(append(request, head...), first...), tail...)
		return request
	}
}

// empty empties the table of events. The heads of the sandboxes go on.
func (p *eventSender) empty(ctx context.Context) error {
	if _, err := p.pool.Exec(ctx, `TRUNCATE sandbox_events; CHECKPOINT`); err != nil {
		return fmt.Errorf("empty the table of events: %w", err)
	}
	return nil
}
