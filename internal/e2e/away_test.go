package e2e_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// away is how long the laptop of these tests stays off. It is longer than every time limit of the default settings.
const away = 3 * 24 * time.Hour

// remembers is an agent that leaves files and a word in its session, and waits. A later attempt says what it found of both.
const remembers = `say() { echo "{\"omoi\":\"event\",\"event_type\":\"agent.message\",\"event_data\":{\"content\":\"$1\"}}"; }
if [ -e left.txt ]; then
	say "found $(cat left.txt), $(git diff --cached --name-only), $(grep -c 'the word is heron' "$SESSION_TRANSCRIPT_PATH")"; git add -A; git commit -qm work; exit
fi
say "the word is heron"; echo left > left.txt; echo staged > staged.txt; git add staged.txt; sleep 100000`

// TestAway_TaskContinuesAfterThreeDays kills all processes of a laptop in mid-task and starts omoi dev three days later: the task continues,
// although its budget is one hour. All stored times move into the past instead of the clock into the future; no program can tell these apart.
func TestAway_TaskContinuesAfterThreeDays(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: no python3 on this machine to change a SQLite file with")
	}
	l := newLaptop(t)
	l.env["OMOI_CHECKPOINT_INTERVAL"] = "200ms"
	l.dev()
	made := l.submit(l.repo(), command(remembers, `,"continuous":false`), asCommand, func(in *apiclient.CreateTaskRequest) {
		in.Budget = &task.Budget{WallClockS: 3600, SandboxSeconds: 3600}
	})
	l.keptIn(made.ID)
	l.powerOff()
	l.age(away)
	l.dev()
	got := l.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, got.AttemptCount, stories(got.Attempts))
	require.Equal(t, 1, l.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.message'
		AND event_data ->> 'content' = 'found left, staged.txt, 1'`, got.Attempts[1].SandboxID), "files and session")
	l.noLeaks()
	l.gapless()
}

// powerOff kills every process of the laptop.
func (l *laptop) powerOff() {
	l.t.Helper()
	l.pool.Close()
	all := processesBelow(l.dir)
	l.kill("dev")
	for _, pid := range append(all, processesWith(l.dir)...) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	l.eventually("no process runs", func() bool {
		return l.below() == 0 && !slices.ContainsFunc(all, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
}

// age moves all stored times of a laptop that is off into the past.
func (l *laptop) age(by time.Duration) {
	l.t.Helper()
	require.NoError(l.t, filepath.WalkDir(l.dir, func(path string, _ fs.DirEntry, err error) error {
		if info, ierr := os.Lstat(path); err == nil && ierr == nil && info.Mode()&fs.ModeSymlink == 0 {
			return os.Chtimes(path, info.ModTime().Add(-by), info.ModTime().Add(-by))
		}
		return err
	}))
	l.ageDatabase(by)
	out, err := exec.CommandContext(l.t.Context(), "python3", "testdata/age_temporal.py", filepath.Join(l.home, "temporal.db"),
		strconv.Itoa(int(by.Seconds()))).CombinedOutput()
	require.NoError(l.t, err, string(out))
	require.Contains(l.t, string(out), "timer_tasks")
}

// ageDatabase moves the times of all rows. Triggers see none of it.
func (l *laptop) ageDatabase(by time.Duration) {
	l.t.Helper()
	ctx := context.Background()
	stack, err := devstack.Start(ctx, devstack.Config{
		Home: l.home, DataRoot: l.env["OMOI_DEV_POSTGRES_DATA_ROOT"], TemporalAddress: "none", Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(l.t, err)
	conn, err := pgx.Connect(ctx, stack.Info().DatabaseURL)
	require.NoError(l.t, err)
	_, err = conn.Exec(ctx, `SET session_replication_role = replica`)
	require.NoError(l.t, err)
	const all = `SELECT format('UPDATE %s SET %s', c.table_name, string_agg(format('%1$I = %1$I - interval ''%2$s seconds''', c.column_name, $1::int), ', '))
		FROM information_schema.columns c JOIN pg_class k ON k.relname = c.table_name AND k.relnamespace = current_schema()::regnamespace
		WHERE c.table_schema = current_schema() AND k.relkind IN ('r', 'p') AND NOT k.relispartition
		AND c.data_type = 'timestamp with time zone' AND c.is_generated = 'NEVER' GROUP BY c.table_name`
	rows, err := conn.Query(ctx, all, int(by.Seconds()))
	require.NoError(l.t, err)
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(l.t, err)
	require.Greater(l.t, len(statements), 20)
	for _, one := range statements {
		_, err := conn.Exec(ctx, one)
		require.NoError(l.t, err, one)
	}
	require.NoError(l.t, conn.Close(ctx))
	require.NoError(l.t, stack.Close())
}
