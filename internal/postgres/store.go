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

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// Config is what the store is told. The zero value works: every field has a default.
type Config struct {
	// Settings are frozen into the history of each task that is loaded. Durations that are
	// zero get the defaults that [contract.Settings] names.
	Settings contract.Settings
	// MaxUnverified is how many sandboxes may be neither live nor verified gone before new
	// ones wait; 0 means as many as there are slots, and 20 at least.
	MaxUnverified int
	// HostFresh is how long ago a host may have reported and still be given sandboxes;
	// default 30 s.
	HostFresh time.Duration
	// LimitApart is how far apart tasks on one credential go on after its provider's limit has reset; default 2 s.
	LimitApart time.Duration
	// Machine is the name, for people, of the machine that this process runs on.
	Machine string
	// Version is that of this binary; a host reports it.
	Version string
	// PulsePeriod is how often intake and relay beat; silence of three periods is an
	// outage. Default 5 s.
	PulsePeriod time.Duration
	// SecondLook is how long after the first look a sandbox elsewhere is seen to be gone again, for receipts.
	SecondLook time.Duration
	// Prices are those of providers by name, for sandboxes that are made from now on.
	Prices map[string]cost.SandboxPrice
	// Ring encrypts the env of tasks; nil: it is stored as it came.
	Ring *credential.Ring
	// Log receives what the store notices about itself; nil discards it.
	Log *slog.Logger
	// Counter is told of begins and ends; nil: nobody is.
	Counter Counter
}

// Store is the only code that speaks SQL. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	q    *db.Queries
	cfg  Config

	known   knownSandboxes
	disk    disk
	commits func() (*pgxpool.Pool, error) // connections of the intake alone, made when it first needs one
	opened  atomic.Pointer[pgxpool.Pool]  // those, once they are made
	closed  atomic.Bool                   // before opened is looked at
}

// Open connects to the database at url and asks it once. A driver in the scheme
// ("postgresql+asyncpg://") is dropped. The caller closes the store. A database that
// cannot be reached is [task.CodeUnavailable].
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	pool, err := Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return New(pool, cfg), nil
}

// Connect opens a pool on the database at url and asks it once. The caller closes it.
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

// idleLimitName ends a session that does nothing in the middle of a transaction: a process that
// hangs there must not keep its rows locked for everybody else. Ours last milliseconds.
const idleLimitName = "idle_in_transaction_session_timeout"

// jitName compiles what looks expensive, at each call anew. Plans that may not read whole tables look so where they
// must, and ours read a few rows: the gate would be compiled for seconds to run for milliseconds.
const jitName = "jit"

// settle makes the settings of each session that the address does not choose. It does so by statements: poolers
// between us and the database refuse parameters of the start that they do not know.
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

// New makes a store on a pool that is open already; closing the store closes the pool.
func New(pool *pgxpool.Pool, cfg Config) *Store {
	s := &Store{pool: pool, q: db.New(pool), cfg: cfg.withDefaults()}
	s.commits = sync.OnceValues(s.openCommits)
	return s
}

// Pool is the pool behind the store.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Close closes every connection; it waits for those in use. None is opened afterwards.
func (s *Store) Close() {
	s.closed.Store(true)
	if commits := s.opened.Load(); commits != nil {
		commits.Close()
	}
	s.pool.Close()
}

// PlainURL drops the driver from the scheme of a database URL.
func PlainURL(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	scheme, _, _ = strings.Cut(scheme, "+")
	return scheme + "://" + rest
}

// inTx runs do in one transaction, again while the database names a conflict that
// repeating solves. do must not have side effects outside the transaction.
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

// txResult returns what do returns in one transaction; see [Store.inTx].
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
	return c
}

// What no operator sets.
const (
	// unknownRetry is the first pause after an observation that learned nothing; it doubles up to 32 times. It is as
	// long as an API needs to restart.
	unknownRetry = 10 * time.Second
	// maxSignals is how many signals a workflow run takes before it continues as new. Temporal allows 10,000 a run and
	// 51,200 events, of which a signal makes about four.
	maxSignals = 2000
)

func settingsWithDefaults(s contract.Settings) contract.Settings {
	s.StartupTimeout = cmp.Or(s.StartupTimeout, 3*time.Minute)
	s.HeartbeatTimeout = cmp.Or(s.HeartbeatTimeout, 2*time.Minute)
	s.NoWorkTimeout = cmp.Or(s.NoWorkTimeout, 15*time.Minute)
	s.IdleTimeout = cmp.Or(s.IdleTimeout, 10*time.Minute)
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

// maxCommits is how many connections the intake opens at most: one for each of its committers, and
// one for what is reported in the name of lost sandboxes.
const maxCommits = 5

// openCommits makes a second pool beside the store's own. Plans that its connections make on
// empty tables serve for hours; without these settings they would scan the tables when those
// have grown. To say so in each transaction would be one more statement in each.
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
		return nil, fmt.Errorf("open connections for the intake: %w", err)
	}
	s.opened.Store(pool)
	if s.closed.Load() {
		pool.Close()
	}
	return pool, nil
}
