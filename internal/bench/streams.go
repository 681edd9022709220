package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Goals of streams: megabytes resident, and milliseconds from an event to its reader.
const (
	goalIdle   = 350
	goalIngest = 500
	goalReader = 20
)

// liveRate is how many events a second are posted while readers are timed.
const liveRate = 1000

// measureStreams opens streams at a process of omoi api and watches what they cost it.
func measureStreams(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	api, err := s.startAPI(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, api.end()) }()
	p, err := newEventSender(ctx, api)
	if err != nil {
		return err
	}
	top, err := p.singles(ctx, cfg.Spell)
	if err != nil {
		return err
	}
	open, err := newReaders(api.info.APIURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	crowd := &crowd{eventSender: p, readers: open, cfg: cfg, report: r}
	return crowd.measure(ctx, half*top)
}

// crowd is a process with its readers.
type crowd struct {
	*eventSender

	readers *readers
	cfg     Config
	report  *Report
}

func (c *crowd) measure(ctx context.Context, rate float64) error {
	streams := affordable(c.cfg.Streams)
	if err := c.timeReaders(ctx, min(boxCount, streams), goalReader); err != nil {
		return err
	}
	if err := c.readers.open(ctx, c.eventSender, streams); err != nil {
		return err
	}
	idle, err := c.watch(ctx, "idle", func(ctx context.Context) (string, error) { return "", c.wait(ctx) })
	if err != nil {
		return err
	}
	c.report.add(c.memoryRow("idle", streams, idle.settled, goalIdle))
	if err := c.timeReaders(ctx, streams, 0); err != nil {
		return err
	}
	busy, err := c.watch(ctx, "under ingest", func(ctx context.Context) (string, error) { return c.ingest(ctx, rate) })
	if err != nil {
		return err
	}
	c.report.add(c.memoryRow(fmt.Sprintf("during ingest at half the top rate (%.0f/s), highest", rate), streams,
		busy.peak, goalIngest))
	c.report.note("Streams", "One process of `omoi api` with sandbox tokens and %d sandboxes; the client is another process. Memory is that of the process (`VmRSS` once a second; `VmHWM`, reset before each phase); a phase takes %s. All streams stay open during ingest into the same sandboxes, so that every post goes to %d readers.\n\n%s\n\n%s",
		boxCount, c.cfg.Watch, streams/boxCount, idle, busy)
	return nil
}

// affordable is how many of the streams the limit of open files allows in one process.
func affordable(streams int) int {
	const others = 500 // the database, Temporal, posts
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Max > uint64(streams+others) { //nolint:gosec // G115: small
		return streams
	}
	return max(int(limit.Max)-others, boxCount) //nolint:gosec // G115: smaller than streams
}

func (c *crowd) memoryRow(when string, streams int, value, goal float64) Row {
	row := Row{
		What: fmt.Sprintf("resident memory of omoi api, %d open streams, %s", streams, when),
		Goal: fmt.Sprintf("at most %.0f MB", goal), Measured: fmt.Sprintf("%.0f MB", value), Value: value,
		Verdict: atMost(value, goal),
	}
	if streams < c.cfg.Streams {
		row.What += fmt.Sprintf(" (the limit of open files allows no %d)", c.cfg.Streams)
		row.Verdict = NotMeasured
	}
	return row
}

// timeReaders opens streams until there are n and tells how long events take to them.
func (c *crowd) timeReaders(ctx context.Context, n int, goal float64) error {
	if err := c.readers.open(ctx, c.eventSender, n); err != nil {
		return err
	}
	before, err := c.processorTime()
	if err != nil {
		return err
	}
	was := c.readers.events.Load()
	c.readers.keep()
	posts, err := pace{rate: liveRate, lasts: c.cfg.Spell, next: c.stamped}.run(ctx, c.info.APIURL)
	if err != nil {
		return err
	}
	if err := c.settle(ctx, was+int64(len(posts)*n/boxCount)); err != nil {
		return err
	}
	took := c.readers.kept()
	after, err := c.processorTime()
	if err != nil {
		return err
	}
	row := Row{
		What:     fmt.Sprintf("event to SSE reader at %d events/s, readers per sandbox: %d, median", liveRate, n/boxCount),
		Measured: fmt.Sprintf("%.1f ms", quantile(took, p50)), Value: quantile(took, p50),
	}
	if goal > 0 {
		row.Goal, row.Verdict = fmt.Sprintf("under %.0f ms", goal), verdict(row.Value < goal && len(took) > 0)
	}
	shown := c.readers.events.Load() - was
	c.report.add(row)
	c.report.note(fmt.Sprintf("Event to reader, %d streams", n), "From the due time of a post to its line at the reader: %s; %d were expected. The process used %.0f µs of processor time per delivered event, including the post.",
		latencies(took), len(posts)*n/boxCount, float64((after-before).Microseconds())/float64(max(shown, 1)))
	return c.readers.whole()
}

// settle waits until the readers have seen so many events, or until nothing more comes.
func (c *crowd) settle(ctx context.Context, want int64) error {
	const quiet = 3 * time.Second
	last, since := int64(-1), time.Now()
	for seen := c.readers.events.Load(); seen < want && time.Since(since) < quiet; seen = c.readers.events.Load() {
		if seen != last {
			last, since = seen, time.Now()
		}
		if !sleepUntil(ctx, time.Now().Add(tick)) {
			return ctx.Err()
		}
	}
	return nil
}

// stamped makes single posts that say when they were due.
func (c *crowd) stamped(n int) func(time.Time) []byte {
	data := strings.Replace(toolUse(), `{"turn"`, `{"sent":%,"turn"`, 1)
	return func(due time.Time) []byte {
		n++
		body := strings.Replace(data, "%", strconv.FormatInt(due.UnixNano(), 10), 1)
		return post(c.path(n%boxCount), c.tokens[n%boxCount], []byte(body))
	}
}

func (c *crowd) wait(ctx context.Context) error {
	if !sleepUntil(ctx, time.Now().Add(c.cfg.Watch)) {
		return ctx.Err()
	}
	return nil
}

// ingest posts at a rate; it tells how that went.
func (c *crowd) ingest(ctx context.Context, rate float64) (string, error) {
	was := c.readers.events.Load()
	before, err := c.processorTime()
	if err != nil {
		return "", err
	}
	begun := time.Now()
	took, err := pace{rate: rate, lasts: c.cfg.Watch, next: c.stamped}.run(ctx, c.info.APIURL)
	if err != nil {
		return "", err
	}
	spell := time.Since(begun).Seconds()
	after, err := c.processorTime()
	shown := float64(c.readers.events.Load() - was)
	return fmt.Sprintf("Posts: %s. Readers were shown %.0f events a second, %.0f %% of what was posted for them; the "+
		"process used %.1f processors.",
		latencies(took), shown/spell, 100*shown/float64(len(took)*len(c.readers.conns)/boxCount), (after-before).Seconds()/spell), err //nolint:mnd // percent
}

// phase is what a process needed while something was done.
type phase struct {
	name    string
	settled float64 // highest VmRSS after the first half
	peak    float64 // VmHWM
	text    string
}

func (p phase) String() string {
	return fmt.Sprintf("%s: at most %.0f MB in the second half, %.0f MB at the peak. %s", p.name, p.settled,
		p.peak, p.text)
}

// watch looks at the memory while work is done.
func (c *crowd) watch(
	ctx context.Context, name string, work func(context.Context) (string, error),
) (out phase, err error) {
	out.name = name
	if err := c.forgetPeak(); err != nil {
		return out, err
	}
	stop := make(chan struct{})
	seen := make(chan float64, 1)
	go func() { seen <- c.highest(time.Now().Add(c.cfg.Watch/2), stop) }() //nolint:mnd // the second half
	out.text, err = work(ctx)
	close(stop)
	out.settled = <-seen
	if err != nil {
		return out, err
	}
	if out.peak, err = c.resident("VmHWM"); err != nil {
		return out, err
	}
	return out, c.readers.whole()
}

// highest is the highest VmRSS after a time, until stop.
func (c *crowd) highest(after time.Time, stop <-chan struct{}) (highest float64) {
	ticker := time.NewTicker(min(time.Second, c.cfg.Watch/4)) //nolint:mnd // a few looks
	defer ticker.Stop()
	for over := false; !over; {
		select {
		case <-ticker.C:
		case <-stop:
			over = true
		}
		if now, err := c.resident("VmRSS"); err == nil && !time.Now().Before(after) {
			highest = max(highest, now)
		}
	}
	return highest
}
