package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// Config configures a [Store]. The zero value works: every field has a default.
type Config struct {
	// Settings are stored in the history of each task that is loaded. Zero durations get the defaults that
	// [contract.Settings] names.
	Settings contract.Settings
	// MaxUnverified is the maximum of sandboxes of a provider whose attempt has ended and that may still exist. At the
	// limit new sandboxes wait. Default: the sum of the concurrency limits of all projects, at least 20.
	MaxUnverified int
	// HostFresh is the maximum age of the heartbeat of a host that gets sandboxes; default 30 s.
	HostFresh time.Duration
	// LimitApart is the interval between tasks on one credential that resume after a rate limit; default 2 s.
	LimitApart time.Duration
	// Machine is the display name of the machine of this process.
	Machine string
	// Version is the version of this binary, which hosts report.
	Version string
	// PulsePeriod is the interval of component heartbeats. A silence of three periods is an outage. Default 5 s.
	PulsePeriod time.Duration
	// SecondLook is the delay of the second absence check of remote sandboxes, for receipts.
	SecondLook time.Duration
	// Prices are the prices of new sandboxes by provider.
	Prices map[string]cost.SandboxPrice
	// Ring encrypts the env of tasks; nil: env is stored in plain text.
	Ring *credential.Ring
	// Log receives log messages; nil: none.
	Log *slog.Logger
	// MaxCheckpoints is the number of bytes that the packs of a task's checkpoints may have; default 1 GiB.
	MaxCheckpoints int64
	// Packs stores packs of checkpoints instead of the database; nil: the database does.
	Packs checkpoint.Packs
	// QuestionExpiry is the time after which a question is no longer answered; 0: without a limit.
	QuestionExpiry time.Duration
	// Counter counts attempts and ends; nil: none.
	Counter Counter
}

// Store is the only code that uses SQL, but for the import of package omoios. A Store is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	q    *db.Queries
	cfg  Config

	known   knownSandboxes
	disk    disk
	uploads chan struct{}                 // uploads of checkpoints in progress
	senders sync.Map                      // their sandboxes, and those that wait for a place
	moving  sync.Mutex                    // held while the pack of a new checkpoint is moved to the object store
	moves   atomic.Int64                  // time before which no new pack is moved to the object store, in Unix nanoseconds
	commits func() (*pgxpool.Pool, error) // pool of ingest, created at first use
	opened  atomic.Pointer[pgxpool.Pool]  // the pool of ingest, once it is created
	closed  atomic.Bool                   // set by Close before it reads opened
}

// Open connects to the database at url and checks the connection. A driver in the scheme ("postgresql+asyncpg://") is
// removed. The caller closes the store. [task.CodeUnavailable] if the database cannot be reached.
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	pool, err := Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return New(pool, cfg), nil
}

// Connect opens a pool on the database at url and checks the connection. The caller closes the pool.
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	conf, err := pgxpool.ParseConfig(PlainURL(url))
	if err != nil {
		return nil, fmt.Errorf("read the database's address: %w", err)
	}
	conf.ConnConfig.RuntimeParams["timezone"] = "UTC"
	conf.AfterConnect = settle(conf.ConnConfig.RuntimeParams)
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, translate("connect to the database", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, translate("connect to the database", err)
	}
	return pool, nil
}

// idleLimitName ends a session that is idle in a transaction, so that a hanging process does not keep rows locked.
// Transactions of omoi take milliseconds.
const idleLimitName = "idle_in_transaction_session_timeout"

// jitName is off, because omoi's queries look expensive to the planner and read few rows: PostgreSQL would compile the
// admission for seconds at each call to run it for milliseconds.
const jitName = "jit"

// settle sets the session settings that the URL does not set. It uses statements, because connection poolers reject
// unknown startup parameters.
func settle(chosen map[string]string) func(context.Context, *pgx.Conn) error {
	var statements []string
	for _, setting := range [][2]string{{idleLimitName, "30s"}, {jitName, "off"}} {
		if _, is := chosen[setting[0]]; !is {
			statements = append(statements, "SET "+setting[0]+" = '"+setting[1]+"'")
		}
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, strings.Join(statements, "; "))
		return err
	}
}

// New returns a store on an open pool; closing the store closes the pool.
func New(pool *pgxpool.Pool, cfg Config) *Store {
	s := &Store{pool: pool, q: db.New(pool), cfg: cfg.withDefaults(), uploads: make(chan struct{}, maxUploads)}
	s.commits = sync.OnceValues(s.openCommits)
	return s
}

// Pool returns the pool of the store.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Close closes all connections and waits for those in use. No connection is opened afterwards.
func (s *Store) Close() {
	s.closed.Store(true)
	if commits := s.opened.Load(); commits != nil {
		commits.Close()
	}
	s.pool.Close()
}

// PlainURL removes the driver from the scheme of a database URL.
func PlainURL(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	scheme, _, _ = strings.Cut(scheme, "+")
	return scheme + "://" + rest
}

// inTx runs do in one transaction, and repeats it after serialization failures and deadlocks. do must have no side
// effects outside of the transaction.
func (s *Store) inTx(ctx context.Context, do func(q *db.Queries) error) error {
	const tries = 5
	var err error
	for range tries {
		err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return do(s.q.WithTx(tx)) })
		if !repeatable(err) {
			break
		}
	}
	return s.wrote(ctx, err)
}

// txResult returns the result of do in one transaction; see [Store.inTx].
func txResult[T any](ctx context.Context, s *Store, do func(q *db.Queries) (T, error)) (out T, err error) {
	err = s.inTx(ctx, func(q *db.Queries) (err error) {
		out, err = do(q)
		return err
	})
	return out, err
}

func (c Config) withDefaults() Config {
	c.Settings = settingsWithDefaults(c.Settings)
	c.HostFresh = cmp.Or(c.HostFresh, 30*time.Second)
	c.PulsePeriod = cmp.Or(c.PulsePeriod, 5*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Counter = cmp.Or[Counter](c.Counter, noCounter{})
	c.MaxCheckpoints = cmp.Or(c.MaxCheckpoints, 1<<30) //nolint:mnd // the documented default
	return c
}

// Defaults without a setting.
const (
	// unknownRetry is the first delay after a check without a result; it doubles with each further one, up to 32 times
	// the value. An API restart takes about this long.
	unknownRetry = 10 * time.Second
	// maxSignals is the number of signals after which a workflow run continues as new. Temporal allows 10,000 signals
	// and 51,200 events per run; a signal makes about four events.
	maxSignals = 2000
)

func settingsWithDefaults(s contract.Settings) contract.Settings {
	s.StartupTimeout = cmp.Or(s.StartupTimeout, 3*time.Minute)
	s.HeartbeatTimeout = cmp.Or(s.HeartbeatTimeout, 2*time.Minute)
	s.NoWorkTimeout = cmp.Or(s.NoWorkTimeout, 15*time.Minute)
	s.IdleTimeout = cmp.Or(s.IdleTimeout, 10*time.Minute)
	s.QuestionWait = cmp.Or(s.QuestionWait, s.IdleTimeout)
	s.AttemptTimeout = cmp.Or(s.AttemptTimeout, 4*time.Hour)
	s.ToolTimeout = cmp.Or(s.ToolTimeout, 30*time.Minute)
	s.RetryBase = cmp.Or(s.RetryBase, 5*time.Second)
	s.LimitWait = cmp.Or(s.LimitWait, limitWait)
	s.CleanupWait = cmp.Or(s.CleanupWait, 2*time.Minute)
	s.UnknownRetry = cmp.Or(s.UnknownRetry, unknownRetry)
	s.SpawnTimeout = cmp.Or(s.SpawnTimeout, 10*time.Minute)
	s.MaxSignals = cmp.Or(s.MaxSignals, maxSignals)
	return s
}

const sqlPlans = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"

// maxCommits is the maximum of connections of ingest: one for each committer, and one for events of lost sandboxes.
const maxCommits = 5

// openCommits opens the pool of ingest. Its connections keep cached plans for hours. A plan from a time of small tables
// would scan whole tables after they have grown, so these plans are disabled per connection; a SET in each transaction
// would cost one more statement.
func (s *Store) openCommits() (*pgxpool.Pool, error) {
	conf := s.pool.Config()
	conf.MinConns, conf.MinIdleConns, conf.MaxConns = 0, 0, min(conf.MaxConns, maxCommits)
	before := conf.AfterConnect
	conf.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sqlPlans)
		if err != nil || before == nil {
			return err
		}
		return before(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), conf)
	if err != nil {
		return nil, fmt.Errorf("open connections of ingest: %w", err)
	}
	s.opened.Store(pool)
	if s.closed.Load() {
		pool.Close()
	}
	return pool, nil
}
