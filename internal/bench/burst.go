package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	goalBurst   = 100      // p99 of others' events beside a burst, in milliseconds
	burstBytes  = 20 << 20 // printed at once
	burstPart   = 3 << 20  // of it in one batch
	burstRate   = 200      // events of the others in a second
	burstOthers = 10       // sandboxes
	loudBox     = boxCount - 1
)

// measureBurst posts small events of some sandboxes, alone and while another one reports much output.
func measureBurst(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p, err := newEventSender(ctx, s)
	if err != nil {
		return err
	}
	var alone, beside, took []float64
	for range cfg.Rounds {
		for _, loud := range []bool{false, true} {
			small, large, err := p.burst(ctx, cfg.Spell, loud)
			if err != nil {
				return err
			}
			if !loud {
				alone = append(alone, small...)
				continue
			}
			beside, took = append(beside, small...), append(took, large...)
		}
	}
	slices.Sort(alone)
	slices.Sort(beside)
	slices.Sort(took)
	value := quantile(beside, p99)
	r.add(Row{
		What:     "post to acknowledgement of 10 sandboxes, while another one reports 20 MiB at once, p99",
		Goal:     fmt.Sprintf("at most %d ms", goalBurst),
		Measured: fmt.Sprintf("%.1f ms", value), Value: value, Verdict: atMost(value, goalBurst),
	},
		Row{What: "the same, without the 20 MiB", Measured: fmt.Sprintf("%.1f ms", quantile(alone, p99)), Value: quantile(alone, p99)})
	r.note("Latency beside 20 MiB of output", burstNote, cfg.Rounds, cfg.Spell, burstRate, burstOthers, latencies(alone),
		latencies(beside), latencies(took))
	return nil
}

const burstNote = "%d alternating rounds of %s with and without the output. Open loop, as for the latency of posts: %d events a second from %d sandboxes, half of them as batches. Another sandbox repeatedly posts 20 MiB, as single events of 1 MiB and as batches of 3 MiB in JSON and in lines, in parallel on separate connections. Without the output: %s. Beside the output: %s. Posts of the output: %s."

// burst answers the latencies of small posts, and of bursts beside them.
func (p *eventSender) burst(ctx context.Context, lasts time.Duration, loud bool) (small, large []float64, err error) {
	if err := p.empty(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var shouting sync.WaitGroup
	if loud {
		shouting.Go(func() { large, err = p.shout(ctx, time.Now().Add(lasts)) })
	}
	small, paced := pace{rate: burstRate, lasts: lasts, next: p.nextSmall}.run(ctx, p.info.APIURL)
	shouting.Wait()
	return small, large, errors.Join(err, paced)
}

// nextSmall makes single posts and batches of one event, by turns.
func (p *eventSender) nextSmall(n int) func(time.Time) []byte {
	box, turn := n%burstOthers, 0
	return func(time.Time) []byte {
		if turn++; turn%2 == 0 { //nolint:mnd // every second one
			return p.requests[box]
		}
		p.first[n]++
		body := fmt.Sprintf(`{"spool_id":"small%d","first":%d,"events":[%s]}`, n, p.first[n], toolUse())
		return post(p.path(box)+"/batch", p.tokens[box], []byte(body))
	}
}

// shout reports much output in one form after the other, and answers how long each took in milliseconds.
func (p *eventSender) shout(ctx context.Context, until time.Time) (took []float64, err error) {
	for form := 0; time.Now().Before(until) && ctx.Err() == nil; form++ {
		begun := time.Now()
		var all sync.WaitGroup
		bodies := p.shouts(form)
		failed := make([]error, len(bodies))
		for n, b := range bodies {
			all.Go(func() { failed[n] = p.insist(ctx, b) })
		}
		all.Wait()
		if err := errors.Join(failed...); err != nil {
			return took, err
		}
		took = append(took, milliseconds(time.Since(begun)))
	}
	return took, nil
}

// shouted is one request of much output.
type shouted struct{ path, body string }

// shouts are the requests of 20 MiB in one of two forms.
func (p *eventSender) shouts(form int) (all []shouted) {
	const head, tail, forms, length = `{"event_type":"agent.tool_result","event_data":{"output":"`, `"}}`, 2, 4 << 10
	path := p.path(loudBox)
	if form%forms == 0 {
		one := shouted{path, head + strings.Repeat("x", 1<<20-len(head)-len(tail)) + tail}
		return slices.Repeat([]shouted{one}, burstBytes>>20)
	}
	events := slices.Repeat([]string{head + strings.Repeat("y", length-len(head)) + tail}, burstPart/length)
	list := strings.Join(events, ",")
	for range burstBytes / burstPart {
		p.spells++
		all = append(all,
			shouted{path + "/batch", fmt.Sprintf(`{"spool_id":"loud%d","first":1,"events":[%s]}`, p.spells, list)})
	}
	return all
}

// insist sends a request until it is taken: the server has room for so much of one sandbox at a time.
func (p *eventSender) insist(ctx context.Context, b shouted) error {
	const pause = 100 * time.Millisecond
	for {
		status, err := p.shoutOnce(ctx, b)
		if err != nil || status == http.StatusOK {
			return err
		}
		if status != http.StatusServiceUnavailable {
			return fmt.Errorf("the server answers much output with %d", status)
		}
		if !sleepUntil(ctx, time.Now().Add(pause)) {
			return ctx.Err()
		}
	}
}

func (p *eventSender) shoutOnce(ctx context.Context, b shouted) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.info.APIURL+b.path, strings.NewReader(b.body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+p.tokens[loudBox])
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("report much output: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}
