package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// least does the least that a server with net/http and pgx can do for events: it reads them,
// stores them together with those that came meanwhile, numbered by sandbox, in one statement, and
// answers once they are stored. It knows no tokens, logs, limits, figures, types or readers.
type least struct {
	pool  *pgxpool.Pool
	posts chan leastPost
}

type leastPost struct {
	box    string
	events []leastEvent
	stored chan error
}

type leastEvent struct {
	Type string          `json:"event_type"`
	Data json.RawMessage `json:"event_data"`
}

func newLeast(pool *pgxpool.Pool) http.Handler {
	l := &least{pool: pool, posts: make(chan leastPost, connections)}
	go l.commit()
	return l
}

func (l *least) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := leastPost{box: strings.TrimPrefix(r.URL.Path, "/"), stored: make(chan error, 1)}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &p.events)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.posts <- p
	if err := <-p.stored; err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(w, "ok")
}

// commit stores what waits, then what has come meanwhile.
func (l *least) commit() {
	for first := range l.posts {
		together := []leastPost{first}
		for range len(l.posts) {
			together = append(together, <-l.posts)
		}
		err := l.store(context.Background(), together)
		for _, p := range together {
			p.stored <- err
		}
	}
}

const leastRows = `WITH e AS (
	SELECT box, type, data, row_number() OVER (PARTITION BY box ORDER BY place) AS nth
	FROM unnest($1::text[], $2::text[], $3::jsonb[]) WITH ORDINALITY AS e(box, type, data, place)
), c AS (
	UPDATE bench_boxes SET head = head + n.more FROM (SELECT box, max(nth) AS more FROM e GROUP BY box) n
	WHERE id = n.box RETURNING id, head - n.more AS before
)
INSERT INTO bench_events (sandbox_id, sequence, partition_month, event_type, event_data)
SELECT box, before + nth, '2026-01-01', type, data FROM e JOIN c ON id = box`

func (l *least) store(ctx context.Context, posts []leastPost) error {
	var boxes, types []string
	var data []json.RawMessage
	for _, p := range posts {
		for _, e := range p.events {
			boxes, types, data = append(boxes, p.box), append(types, e.Type), append(data, e.Data)
		}
	}
	if _, err := l.pool.Exec(ctx, leastRows, boxes, types, data); err != nil {
		return fmt.Errorf("store %d events: %w", len(boxes), err)
	}
	return nil
}

// leastly posts events, so many at once, to the server that does the least.
func (t *replica) leastly(size int) func(context.Context, time.Duration) (float64, error) {
	body := []byte("[" + strings.Repeat(toolUse()+",", size-1) + toolUse() + "]")
	return func(ctx context.Context, spell time.Duration) (float64, error) {
		rate, err := flood(ctx, t.least.url, spell, toEachBox(body))
		return float64(size) * rate, err
	}
}
