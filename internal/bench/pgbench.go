package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// boxCount is how many sandboxes the events belong to.
const boxCount = 200

// eventData is the data of an event of the usual size, some 350 bytes with what is around it.
func eventData() string {
	return `{"turn": 12, "tool": "Bash", "tool_use_id": "toolu_0123456789", "input": {"command": "` + strings.Repeat("x", 220) + `"}}`
}

// replica is what the intake is compared with: the same row into a table of the same columns
// and key, by means that know nothing of omoi. The plain table stores what is sent twice
// twice, as a single post without an id is; the guarded one has a second key that refuses it,
// as a batch or a post with an id is refused.
type replica struct {
	pool *pgxpool.Pool
	url  string
	dir  string
	bin  string // of pgbench; empty: there is none

	naive, least baseline
}

const twinSchema = `
CREATE TABLE bench_events (LIKE sandbox_events INCLUDING DEFAULTS, PRIMARY KEY (partition_month, sandbox_id, sequence));
CREATE TABLE bench_guarded (LIKE sandbox_events INCLUDING DEFAULTS, sent bigint NOT NULL,
	PRIMARY KEY (partition_month, sandbox_id, sequence), UNIQUE (sandbox_id, sent));
CREATE TABLE bench_boxes (id text PRIMARY KEY, head bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
INSERT INTO bench_boxes (id) SELECT 'box' || n FROM generate_series(0, 199) n;
CREATE SEQUENCE bench_sequence CACHE 1;`

// counted takes the number of an event from its sandbox's row.
const counted = `WITH c AS (UPDATE bench_boxes SET head = head + 1 WHERE id = $1 RETURNING head)
INSERT INTO bench_events (sandbox_id, sequence, partition_month, event_type, event_data)
SELECT $1, c.head, '2026-01-01', 'agent.tool_use', $2 FROM c`

func newReplica(ctx context.Context, s *server) (*replica, error) {
	if _, err := s.pool.Exec(ctx, twinSchema); err != nil {
		return nil, fmt.Errorf("make the tables to compare with: %w", err)
	}
	t := &replica{pool: s.pool, url: s.info.DatabaseURL, dir: s.dir, bin: findPgbench()}
	for name, sql := range map[string]string{
		"single": `\set box random(0, 199)
INSERT INTO bench_events (sandbox_id, sequence, partition_month, event_type, event_data)
VALUES ('box' || :box::int, nextval('bench_sequence'), '2026-01-01', 'agent.tool_use', '` + eventData() + `');`,
		"guarded": `\set box random(0, 199)
INSERT INTO bench_guarded (sandbox_id, sequence, partition_month, event_type, event_data, sent)
VALUES ('box' || :box::int, nextval('bench_sequence'), '2026-01-01', 'agent.tool_use', '` + eventData() + `', currval('bench_sequence'));`,
		"rows": `\set box random(0, 199)
INSERT INTO bench_guarded (sandbox_id, sequence, partition_month, event_type, event_data, sent)
SELECT 'box' || :box::int, n, '2026-01-01', 'agent.tool_use', replace('` + eventData() + `', '12', (n % 100)::text)::jsonb, n
FROM (SELECT nextval('bench_sequence') AS n FROM generate_series(1, ` + strconv.Itoa(batchSize) + `)) AS s;`,
		"counter": `\set box random(0, 199)
` + strings.NewReplacer("$1", "'box' || :box::int", "$2", "'"+eventData()+"'::jsonb").Replace(counted) + ";",
	} {
		if err := os.WriteFile(filepath.Join(t.dir, name+".sql"), []byte(sql), 0o600); err != nil {
			return nil, fmt.Errorf("write the script %s of pgbench: %w", name, err)
		}
	}
	var err error
	if t.naive, err = startBaseline(ctx, naiveServer, t.url); err != nil {
		return nil, err
	}
	if t.least, err = startBaseline(ctx, leastServer, t.url); err != nil {
		return nil, errors.Join(err, t.naive.stop())
	}
	return t, nil
}

// findPgbench looks on PATH and beside the programs of PostgreSQL.
func findPgbench() string {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path
	}
	path := filepath.Join(devstack.FindPostgres("", ""), "pgbench")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// naive stores each event with a statement and a transaction of its own.
func naive(pool *pgxpool.Pool) http.Handler {
	data := eventData()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, err := pool.Exec(r.Context(), counted, strings.TrimPrefix(r.URL.Path, "/"), data); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "ok")
	})
}

func (t *replica) close() error { return errors.Join(t.naive.stop(), t.least.stop()) }

// errNoPgbench is not the benchmark's fault.
var errNoPgbench = errors.New("there is no pgbench on this machine")

// pgbench runs a script for a while and answers its rows a second.
func (t *replica) pgbench(ctx context.Context, script string, spell time.Duration) (float64, error) {
	if t.bin == "" {
		return 0, errNoPgbench
	}
	out, err := t.runPgbench(ctx, script, spell)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("pgbench does not say its rate: %s", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

func (t *replica) runPgbench(ctx context.Context, script string, lasts time.Duration, more ...string) ([]byte, error) {
	const threads = "2"
	args := append([]string{
		"-n", "-M", "prepared", "-c", strconv.Itoa(connections), "-j", threads,
		"-T", strconv.Itoa(max(int(lasts.Seconds()), 1)), "-f", filepath.Join(t.dir, script+".sql"),
	}, more...)
	out, err := exec.CommandContext(ctx, t.bin, append(args, t.url)...).CombinedOutput() //nolint:gosec // our own arguments
	if err != nil {
		return nil, fmt.Errorf("run pgbench: %w: %s", err, out)
	}
	return out, nil
}

// naively posts single events to the naive server.
func (t *replica) naively(ctx context.Context, spell time.Duration) (float64, error) {
	return flood(ctx, t.naive.url, spell, toEachBox([]byte(toolUse())))
}

// toEachBox posts the same body to one sandbox of the replica after the other.
func toEachBox(body []byte) func(n int) caller {
	requests := make([][]byte, boxCount)
	for n := range requests {
		requests[n] = post("/box"+strconv.Itoa(n), "", body)
	}
	return func(n int) caller {
		return func() []byte {
			n++
			return requests[n%boxCount]
		}
	}
}

// copyRows copies rows into the guarded table in one session, a transaction ten thousand, for
// a while.
func (t *replica) copyRows(ctx context.Context, spell time.Duration) (float64, error) {
	const rows = 10_000
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return 0, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	var sequence, copied int64
	if err := conn.QueryRow(ctx, `SELECT nextval('bench_sequence') + 1000000000`).Scan(&sequence); err != nil {
		return 0, fmt.Errorf("find a free number: %w", err)
	}
	data := strings.ReplaceAll(eventData(), `\`, `\\`)
	var took time.Duration
	for took < spell {
		var text bytes.Buffer
		for range rows {
			sequence++
			fmt.Fprintf(&text, "box%d\t%d\t2026-01-01\tagent.tool_use\t%s\t%[2]d\n", sequence%boxCount, sequence, data)
		}
		begun := time.Now()
		tag, err := conn.Conn().PgConn().CopyFrom(ctx, &text,
			`COPY bench_guarded (sandbox_id, sequence, partition_month, event_type, event_data, sent) FROM STDIN`)
		if err != nil {
			return 0, fmt.Errorf("copy rows: %w", err)
		}
		took += time.Since(begun)
		copied += tag.RowsAffected()
	}
	return float64(copied) / took.Seconds(), nil
}

// empty empties the tables, so that every spell begins alike.
func (t *replica) empty(ctx context.Context) error {
	if _, err := t.pool.Exec(ctx, `TRUNCATE bench_events, bench_guarded; CHECKPOINT`); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	return nil
}
