package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
)

// goalPaging is how much more the last pages may cost than the first.
const goalPaging = 1.25

const pageSize = 200

// measurePaging reads a long history page by page, by each of the ways to do so.
func measurePaging(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := startServer(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	m, err := newTaskMaker(ctx, s)
	if err != nil {
		return err
	}
	taskID, box, err := m.give(ctx)
	if err != nil {
		return err
	}
	if err := s.agent(box).tell(ctx, cfg.History); err != nil {
		return err
	}
	walks := []walk{
		{"`/sandboxes/{id}/events`", "/api/v1/sandboxes/" + box + "/events", "cursor", lastID},
		{"`/sandboxes/{id}/trajectory`", "/api/v1/sandboxes/" + box + "/trajectory", "cursor", lastID},
		{"`/tasks/{id}/events`", "/api/v1/tasks/" + taskID + "/events", "after", func(p page) string { return p.Next }},
	}
	for _, w := range walks {
		var ratios []float64
		for n := range cfg.Rounds + 1 {
			took, err := s.walk(ctx, w)
			if err != nil {
				return err
			}
			if n > 0 { // the first walk warms up
				ratios = append(ratios, lastToFirst(took))
			}
		}
		value := median(ratios)
		r.add(Row{
			What:     fmt.Sprintf("last pages of %d events relative to the first, %s", cfg.History, w.name),
			Goal:     fmt.Sprintf("at most %.2f times", goalPaging),
			Measured: fmt.Sprintf("%.2f times", value), Value: value, Verdict: atMost(value, goalPaging),
		})
	}
	r.note("Paging", "One sandbox of one task with %d events, every twentieth a heartbeat, read completely in pages of %d with an API key, %d times after one warm-up. The ratio is that of the median times of the last and the first tenth of the pages.", cfg.History, pageSize, cfg.Rounds)
	return nil
}

// tell reports n events in large batches.
func (a *speaker) tell(ctx context.Context, n int) error {
	const batch, beatEvery = 1000, 20
	data := json.RawMessage(eventData())
	for a.said < int64(n) {
		var events []apiclient.CreateEventRequest
		for len(events) < min(batch, n-int(a.said)) {
			e := apiclient.CreateEventRequest{Type: event.AgentToolUse, Data: data}
			if len(events)%beatEvery == 0 {
				e = apiclient.CreateEventRequest{Type: event.AgentHeartbeat}
			}
			events = append(events, e)
		}
		if err := a.say(ctx, events...); err != nil {
			return err
		}
	}
	return nil
}

// walk is a way to read a history page by page.
type walk struct {
	name  string
	path  string
	param string // of the place
	next  func(page) string
}

// page is what all answers have in common.
type page struct {
	Events []struct {
		ID string `json:"id"`
	} `json:"events"`
	Next string `json:"next"`
}

func lastID(p page) string { return p.Events[len(p.Events)-1].ID }

// walk answers what each page took.
func (s *server) walk(ctx context.Context, w walk) (took []float64, err error) {
	for place := ""; ; {
		url := fmt.Sprintf("%s%s?limit=%d", s.info.APIURL, w.path, pageSize)
		if place != "" {
			url += "&" + w.param + "=" + place
		}
		begun := time.Now()
		p, err := s.page(ctx, url)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w.name, err)
		}
		took = append(took, milliseconds(time.Since(begun)))
		if len(p.Events) < pageSize {
			return took, nil
		}
		if next := w.next(p); next != place {
			place = next
			continue
		}
		return nil, fmt.Errorf("read %s: the page after %s is that page again", w.name, place)
	}
}

func (s *server) page(ctx context.Context, url string) (p page, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return p, err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return p, err
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	if response.StatusCode != http.StatusOK {
		return p, fmt.Errorf("the server answers %s", response.Status)
	}
	return p, json.NewDecoder(response.Body).Decode(&p)
}

// lastToFirst compares the last tenth of the pages with the first; the very last is short.
func lastToFirst(took []float64) float64 {
	const tenth = 10
	whole := took[:max(len(took)-1, 1)]
	n := max(len(whole)/tenth, 1)
	return median(whole[len(whole)-n:]) / median(whole[:n])
}
