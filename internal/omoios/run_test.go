package omoios_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/omoios"
	"github.com/omoi-dev/omoi/internal/postgres"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

//go:embed testdata/omoios.sql.txt
var schema string

const (
	done    = "77777777-0000-4000-8000-000000000001"
	running = "77777777-0000-4000-8000-000000000002"
	doneBox = "omoios-77777777-aaaaaa"
	openBox = "omoios-77777777-bbbbbb"
)

// rig is a damaged database of OmoiOS and an empty one of omoi.
type rig struct {
	t        *testing.T
	dsn      string
	src, dst *pgxpool.Pool
	options  omoios.Options
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dsn: pgtest.EmptyURL(t), dst: pgtest.New(t)}
	r.src = pgtest.Connect(t, r.dsn)
	_, err := r.src.Exec(t.Context(), schema)
	require.NoError(t, err)
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	r.options = omoios.Options{DSN: r.dsn, Ring: ring, Agent: "external", Provider: "external", MaxSlots: 5}
	return r
}

func (r *rig) run(edit ...func(*omoios.Options)) omoios.Report {
	r.t.Helper()
	o := r.options
	for _, change := range edit {
		change(&o)
	}
	report, err := omoios.Run(r.t.Context(), r.dst, o)
	require.NoError(r.t, err)
	return report
}

func dry(o *omoios.Options) { o.DryRun = true }

// value reads one value of a database.
func value[T any](t *testing.T, pool *pgxpool.Pool, query string, args ...any) (out T) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), query, args...).Scan(&out))
	return out
}

// sum is a checksum of all rows of all tables.
func sum(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	var all strings.Builder
	rows, err := pool.Query(t.Context(), `SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`)
	require.NoError(t, err)
	var tables []string
	for rows.Next() {
		var table string
		require.NoError(t, rows.Scan(&table))
		tables = append(tables, table)
	}
	require.NoError(t, rows.Err())
	for _, table := range tables {
		fmt.Fprintln(&all, table, value[string](t, pool, `SELECT coalesce(md5(string_agg(md5(x::text), '' ORDER BY md5(x::text))), '') FROM `+table+` x`))
	}
	return all.String()
}

// counts returns rows, imported, existing and skipped by table.
func counts(report omoios.Report) map[string][4]int64 {
	out := map[string][4]int64{}
	for _, k := range report.Kinds {
		out[k.Table] = [4]int64{k.Rows, k.Imported, k.Existing, k.Skipped}
	}
	return out
}

func TestRun_DryRunSaysWhatTheRunDoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before, empty := sum(t, r.src), sum(t, r.dst)
	planned := r.run(dry)
	require.Equal(t, empty, sum(t, r.dst), "a dry run writes nothing")
	did := r.run()
	require.True(t, planned.DryRun)
	planned.DryRun = false
	require.Equal(t, did, planned)
	require.Equal(t, before, sum(t, r.src), "OmoiOS is only read")
	require.Equal(t, map[string][4]int64{
		"organizations": {2, 2, 0, 0}, "users": {4, 2, 0, 2}, "users.attributes.github_access_token": {1, 1, 0, 0}, "user_credentials": {6, 1, 0, 5},
		"projects": {4, 2, 0, 2}, "tickets": {4, 2, 0, 2}, "tasks": {6, 4, 0, 2}, "claude_session_transcripts": {4, 2, 0, 2},
		"sandbox_events": {10, 7, 0, 3}, "tasks.dependencies": {1, 1, 0, 0}, "alembic_version": {1, 0, 0, 1}, "organization_memberships": {2, 0, 0, 2},
	}, counts(did))

	after := sum(t, r.dst)
	for _, k := range r.run().Kinds {
		require.Zero(t, k.Imported, k.Table)
	}
	require.Equal(t, after, sum(t, r.dst), "a second run adds nothing")
}

func TestRun_KeepsTasksWithTheirTimeline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run()
	row := func(column, id string) string {
		return value[string](t, r.dst, `SELECT coalesce(`+column+`::text, '') FROM tasks WHERE id = $1`, id)
	}
	require.Equal(t, "completed", row("status", done))
	require.Equal(t, "7", row("pull_request_number", done))
	require.Equal(t, doneBox, row("sandbox_id", done))
	require.Equal(t, "failed", row("status", running))
	require.Equal(t, "imported", row("end_reason ->> 'code'", running))
	require.Equal(t, "feature/66666666-0000-4000-8000-000000000001-logout", row("branch_name", running))
	require.Equal(t, "Users log in.", row("description", running))
	require.Equal(t, "11111111-0000-4000-8000-000000000002", row("user_id", running))
	require.Equal(t, done, value[string](t, r.dst, `SELECT depends_on::text FROM task_dependencies WHERE task_id = $1`, running))
	require.Equal(t, "failed", row("status", "77777777-0000-4000-8000-000000000003"), "its status is unknown")
	require.Empty(t, row("sandbox_id", "77777777-0000-4000-8000-000000000003"), "another task has the sandbox")

	require.Equal(t, "1 agent.started|2 agent.message first|3 agent.message second|4 agent.completed", value[string](t, r.dst,
		`SELECT string_agg(concat_ws(' ', sequence, event_type, event_data ->> 'content'), '|' ORDER BY sequence) FROM sandbox_events WHERE sandbox_id = $1`, doneBox))
	require.Equal(t, "2026-01-04 10:02:00+00", value[string](t, r.dst, `SELECT created_at::text FROM sandbox_events WHERE sandbox_id = $1 AND sequence = 4`, doneBox))
	require.Zero(t, value[int](t, r.dst, `SELECT count(*) FROM sandboxes s WHERE last_sequence <> (SELECT count(*) FROM sandbox_events e WHERE e.sandbox_id = s.id)`))
	require.Equal(t, "{}\n\n", value[string](t, r.dst, `SELECT convert_from(content, 'UTF8') FROM transcripts WHERE session_id = 's1'`), "the table has the newest one")
	require.Equal(t, running, value[string](t, r.dst, `SELECT task_id::text FROM transcripts WHERE session_id = 'real'`))
	require.Equal(t, 1, value[int](t, r.dst, `SELECT count(*) FROM sandboxes WHERE id = 'spec-12345678' AND provider = 'bare'`))
	require.Zero(t, value[int](t, r.dst, `SELECT count(*) FROM diagnosis_queue`), "an import asks for no diagnosis")
}

func TestRun_DecryptsAndEncryptsCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := strings.Repeat("0f", 32)
	_, err := r.src.Exec(t.Context(), `UPDATE user_credentials SET encrypted_value = $1 WHERE id = '44444444-0000-4000-8000-000000000005'`, fernetToken(key, "sk-openai-openai-openai"))
	require.NoError(t, err)
	r.run(func(o *omoios.Options) { o.Key = key })
	service := credential.New(credential.Config{}, r.options.Ring, postgres.New(r.dst, postgres.Config{}))
	all, err := service.List(t.Context(), credential.Who{OrganizationID: "22222222-0000-4000-8000-000000000001", UserID: "11111111-0000-4000-8000-000000000001"})
	require.NoError(t, err)
	masked := map[string]string{}
	for _, c := range all {
		require.Equal(t, credential.StateValid, c.State)
		masked[c.Kind] = c.Masked
	}
	require.Equal(t, map[string]string{"anthropic": "********lain", "claude_oauth": "********oken", "github": "********", "openai": "********"}, masked)

	_, err = omoios.Run(t.Context(), r.dst, omoios.Options{DSN: r.dsn, Ring: r.options.Ring, Key: "short"})
	require.ErrorContains(t, err, "64 hexadecimal digits")
}

// fernetToken encrypts as OmoiOS does.
func fernetToken(key, plain string) string {
	secret := make([]byte, 32)
	_, _ = fmt.Sscanf(key, "%x", &secret)
	block, _ := aes.NewCipher(secret[16:])
	padding := 16 - len(plain)%16
	text := []byte(plain + strings.Repeat(string(rune(padding)), padding))
	body := append([]byte{0x80}, make([]byte, 8+16+len(text))...)
	cipher.NewCBCEncrypter(block, body[9:25]).CryptBlocks(body[25:], text)
	mac := hmac.New(sha256.New, secret[:16])
	_, _ = mac.Write(body)
	return base64.URLEncoding.EncodeToString(mac.Sum(body))
}

func TestRun_IntoAnOrganization(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	into := func(o *omoios.Options) { o.Into = "default" }
	got := counts(r.run(into))
	require.Equal(t, [4]int64{2, 0, 0, 2}, got["organizations"])
	require.Equal(t, [4]int64{4, 3, 0, 1}, got["projects"], "one project has a repository twice")
	require.Equal(t, 1, value[int](t, r.dst, `SELECT count(DISTINCT organization_id) FROM tasks`))
	for _, k := range r.run(into).Kinds {
		require.Zero(t, k.Imported, k.Table)
	}
}

// An organization gets nothing of what another one has, also if rows name its IDs, and no task gets the branch of another one.
func TestRun_StaysInItsOrganization(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run()
	_, err := r.src.Exec(t.Context(), `INSERT INTO tasks (id, ticket_id, title, status, result)
		SELECT '77777777-0000-4000-8000-00000000000a', ticket_id, 'Same branch', 'completed', result FROM tasks WHERE id = '`+done+`';
		INSERT INTO tickets (id, title, project_id) VALUES ('66666666-0000-4000-8000-00000000000a', 'New', 'project-55555555-0000-4000-8000-000000000001')`)
	require.NoError(t, err)
	into := counts(r.run(func(o *omoios.Options) { o.Into = "default" }))
	require.Equal(t, [4]int64{5, 0, 2, 3}, into["tickets"])
	require.Equal(t, [4]int64{7, 0, 4, 3}, into["tasks"])
	require.Zero(t, value[int](t, r.dst, `SELECT count(*) FROM tasks t JOIN organizations o ON o.id = t.organization_id WHERE o.name = 'default'`))

	report := r.run()
	require.Equal(t, [4]int64{7, 1, 4, 2}, counts(report)["tasks"])
	require.Equal(t, 1, value[int](t, r.dst, `SELECT count(*) FROM tasks WHERE branch_name LIKE 'feature/66666666-%-login'`))
}

func TestRun_OldSchema(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.src.Exec(t.Context(), `DROP TABLE organization_memberships, claude_session_transcripts, user_credentials;
		ALTER TABLE tasks DROP sandbox_id, DROP dependencies, DROP execution_config, DROP title, DROP updated_at; ALTER TABLE tickets DROP user_id;
		ALTER TABLE users DROP attributes, DROP deleted_at; ALTER TABLE projects DROP autonomous_execution_enabled`)
	require.NoError(t, err)
	planned := r.run(dry)
	did := r.run()
	planned.DryRun = false
	require.Equal(t, did, planned)
	require.Equal(t, [4]int64{6, 4, 0, 2}, counts(did)["tasks"])
	require.Equal(t, [4]int64{10, 7, 0, 3}, counts(did)["sandbox_events"])
}

// stopping is a target whose transactions end after a number of them.
type stopping struct {
	*pgxpool.Pool

	left int
}

var errStopped = errors.New("stopped")

func (s *stopping) Begin(ctx context.Context) (pgx.Tx, error) {
	if s.left--; s.left < 0 {
		return nil, errStopped
	}
	return s.Pool.Begin(ctx)
}

func TestRun_ContinuesAfterEachInterruption(t *testing.T) {
	t.Parallel()
	r, whole := newRig(t), newRig(t)
	whole.run()
	runs := 0
	for err := errStopped; err != nil; runs++ {
		require.ErrorIs(t, err, errStopped)
		_, err = omoios.Run(t.Context(), &stopping{Pool: r.dst, left: runs}, r.options)
	}
	require.Greater(t, runs, 10)
	for _, query := range []string{
		`SELECT string_agg(concat_ws(' ', sandbox_id, sequence, key, event_type, event_data), '|' ORDER BY sandbox_id, sequence) FROM sandbox_events`,
		`SELECT string_agg(concat_ws(' ', id, key, status, branch_name, sandbox_id, attempt_count), '|' ORDER BY id) FROM tasks`,
		`SELECT string_agg(concat_ws(' ', id, key, title), '|' ORDER BY id) FROM tickets`,
		`SELECT string_agg(concat_ws(' ', run_key, task_id, content), '|' ORDER BY run_key) FROM transcripts`,
		`SELECT string_agg(concat_ws(' ', user_id, kind), '|' ORDER BY user_id, kind) FROM credentials`,
	} {
		require.Equal(t, value[string](t, whole.dst, query), value[string](t, r.dst, query))
	}
}

func TestRun_ManyEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.src.Exec(t.Context(), `INSERT INTO sandbox_events SELECT 'e' || n, 'big', NULL, 'agent.message', jsonb_build_object('content', n), 'agent',
		timestamptz '2026-02-01' + n / 2 * interval '1 second' FROM generate_series(1, 100000) n`)
	require.NoError(t, err)
	require.Equal(t, [4]int64{100010, 100007, 0, 3}, counts(r.run())["sandbox_events"])
	require.Equal(t, 100000, value[int](t, r.dst, `SELECT last_sequence FROM sandboxes WHERE id = 'big'`))
	require.True(t, value[bool](t, r.dst, `SELECT count(*) = 100000 AND min(sequence) = 1 AND max(sequence) = 100000 FROM sandbox_events WHERE sandbox_id = 'big'`))
	require.Zero(t, value[int](t, r.dst, `SELECT count(*) FROM (SELECT created_at < lag(created_at) OVER (ORDER BY sequence) AS back
		FROM sandbox_events WHERE sandbox_id = 'big') o WHERE back`), "events are in the order of their times")
}

func TestRun_OtherDatabases(t *testing.T) {
	t.Parallel()
	dst := pgtest.New(t)
	for want, dsn := range map[string]string{
		"is one of omoi": pgtest.URL(t), "has no table tickets": pgtest.EmptyURL(t), "Invalid --dsn": "postgres://%", "Cannot connect": "postgres://127.0.0.1:1/none",
	} {
		_, err := omoios.Run(t.Context(), dst, omoios.Options{DSN: dsn})
		require.ErrorContains(t, err, want)
	}
}

// texts returns what a report says of a table.
func texts(report omoios.Report, table string) map[string]int64 {
	out := map[string]int64{}
	for _, k := range report.Kinds {
		for _, n := range append(k.Reasons, k.Changes...) {
			if k.Table == table {
				out[n.Text] = n.Rows
			}
		}
	}
	return out
}

// Columns of the type json may hold escapes that jsonb refuses.
func TestRun_EscapesThatCannotBeStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.src.Exec(t.Context(), `ALTER TABLE users ALTER attributes TYPE json; ALTER TABLE tasks ALTER result TYPE json, ALTER dependencies TYPE json, ALTER execution_config TYPE json;
		ALTER TABLE tickets ALTER context TYPE json; ALTER TABLE sandbox_events ALTER event_data TYPE json; ALTER TABLE user_credentials ALTER config_data TYPE json;
		ALTER TABLE claude_session_transcripts ALTER session_metadata TYPE json;
		UPDATE users SET attributes = '{"bio": "\u0000", "github_access_token": "gho_abcdefghijklmnop"}' WHERE email LIKE 'ann%';
		UPDATE tickets SET context = '{"a": "\u0000 \\u0000 \ud800"}' WHERE title = 'Add login';
		UPDATE tasks SET result = '{"note": "\u0000", "branch_name": "feature/nul"}' WHERE id = '`+done+`';
		UPDATE claude_session_transcripts SET session_metadata = '{"n": "\udfff"}' WHERE id = 't1';
		UPDATE sandbox_events SET event_data = '{"text": "\u0000", "git_status": {"branch_name": "feature/one"}}' WHERE event_type = 'iteration.validation'`)
	require.NoError(t, err)
	planned := r.run(dry)
	did := r.run()
	planned.DryRun = false
	require.Equal(t, did, planned)
	require.Equal(t, [4]int64{6, 4, 0, 2}, counts(did)["tasks"])
	require.Equal(t, [4]int64{10, 7, 0, 3}, counts(did)["sandbox_events"])
	require.Equal(t, [4]int64{1, 1, 0, 0}, counts(did)["users.attributes.github_access_token"])
	for _, table := range []string{"tickets", "tasks", "claude_session_transcripts"} {
		require.EqualValues(t, 1, texts(did, table)[`A character that omoi cannot store, for example \u0000, becomes U+FFFD`], table)
	}
	require.Equal(t, "\ufffd \\u0000 \ufffd", value[string](t, r.dst, `SELECT context ->> 'a' FROM tickets WHERE title = 'Add login'`))
	require.Equal(t, "feature/one feature/nul", value[string](t, r.dst, `SELECT string_agg(branch_name, ' ' ORDER BY branch_name DESC) FROM tasks`))
}

func TestRun_DropsDependenciesThatCloseACycle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.src.Exec(t.Context(), `UPDATE tasks SET dependencies = jsonb_build_object('depends_on', jsonb_build_array('`+running+`', 'task-six')) WHERE id = '`+done+`';
		UPDATE tasks SET dependencies = '{"depends_on": ["`+done+`", "task-six"]}' WHERE id = 'task-six';
		UPDATE tasks SET dependencies = '{"depends_on": []}' WHERE id = '77777777-0000-4000-8000-000000000003';
		UPDATE tasks SET dependencies = '{"depends_on": ["nobody"]}' WHERE id = '77777777-0000-4000-8000-000000000004'`)
	require.NoError(t, err)
	planned := r.run(dry)
	did := r.run()
	planned.DryRun = false
	require.Equal(t, did, planned)
	require.Equal(t, [4]int64{4, 1, 0, 3}, counts(did)["tasks.dependencies"])
	const left = "A dependency is left out: "
	require.Equal(t, map[string]int64{
		left + "it closes a cycle. " + left + "its task is not imported": 1, left + "it closes a cycle": 1, "Its task is not imported": 1,
	}, texts(did, "tasks.dependencies"))
	require.Equal(t, 2, value[int](t, r.dst, `SELECT count(*) FROM task_dependencies WHERE task_id = $1`, done))
	require.Equal(t, 2, value[int](t, r.dst, `SELECT count(*) FROM task_dependencies`))
	require.Equal(t, [4]int64{4, 0, 1, 3}, counts(r.run())["tasks.dependencies"])
}

// omoi keeps the newest transcript of a session, and the newest 100 of a sandbox. The report has the others.
func TestRun_ReportsTranscriptsThatOmoiDoesNotKeep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.src.Exec(t.Context(), `INSERT INTO claude_session_transcripts (id, session_id, transcript_b64, sandbox_id, created_at)
			SELECT 'many' || n, 'many' || n, 'e30K', 'omoios-77777777-aaaaaa', timestamptz '2026-03-01' + n * interval '1 day' FROM generate_series(1, 120) n;
		INSERT INTO claude_session_transcripts (id, session_id, transcript_b64, sandbox_id, created_at) VALUES ('older', 'real', 'e30K', 'omoios-77777777-bbbbbb', '2026-01-01');
		UPDATE claude_session_transcripts SET created_at = '2026-02-01' WHERE id = 't2'`)
	require.NoError(t, err)
	planned := r.run(dry)
	did := r.run()
	planned.DryRun = false
	require.Equal(t, did, planned)
	require.Equal(t, [4]int64{125, 101, 0, 24}, counts(did)["claude_session_transcripts"])
	const kept = "omoi keeps one transcript of a session, and the newest 100 of a sandbox"
	require.EqualValues(t, 21, texts(did, "claude_session_transcripts")[kept])
	require.EqualValues(t, 1, texts(did, "claude_session_transcripts")["A newer transcript of its session is imported"])
	require.EqualValues(t, 1, texts(did, "sandbox_events")["Its transcript is left out: "+kept], "the event has a session of its own")
	require.Equal(t, "many21", value[string](t, r.dst, `SELECT session_id FROM transcripts WHERE sandbox_id = $1 ORDER BY updated_at LIMIT 1`, doneBox))
	require.Equal(t, "{\"sessionId\":\"real\"}\n", value[string](t, r.dst, `SELECT convert_from(content, 'UTF8') FROM transcripts WHERE session_id = 'real'`))
	again := r.run()
	require.Equal(t, [4]int64{125, 0, 101, 24}, counts(again)["claude_session_transcripts"])
}

// Imported rows are no news for readers of the WebSocket, and what OmoiOS spent is no usage of a budget.
func TestRun_SendsNoFramesAndSpendsNoBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.dst.Exec(t.Context(), `INSERT INTO bus_events (event_type, entity_type, entity_id) VALUES ('x', 'y', 'z')`)
	require.NoError(t, err)
	r.run(dry)
	r.run()
	require.Equal(t, "z", value[string](t, r.dst, `SELECT string_agg(entity_id, ' ') FROM bus_events`), "frames of others stay")
	require.Zero(t, value[int](t, r.dst, `SELECT count(*) FROM open_usage`))
	require.Equal(t, 2, value[int](t, r.dst, `SELECT count(*) FROM sandboxes WHERE task_id IS NOT NULL`))
	require.Zero(t, value[float64](t, r.dst, `SELECT sum(u.used) FROM projects p, omoi_project_usage(p.id) u WHERE u.what = 'sandbox_s'`))
	_, err = r.dst.Exec(t.Context(), `UPDATE sandboxes SET gone_at = gone_at + interval '10 s', ended_at = ended_at + interval '10 s' WHERE id = $1`, doneBox)
	require.NoError(t, err)
	require.InDelta(t, 10, value[float64](t, r.dst, `SELECT sum(u.used) FROM projects p, omoi_project_usage(p.id) u WHERE u.what = 'sandbox_s'`), 0.001, "later changes count")
}

// Rows that name a sandbox of omoi, or of another organization, add nothing to that.
func TestRun_LeavesOtherSandboxesAlone(t *testing.T) {
	t.Parallel()
	r, hostile := newRig(t), newRig(t)
	r.run()
	_, err := r.dst.Exec(t.Context(), `INSERT INTO sandboxes (id, provider, machine, state, created_at) VALUES ('own', 'bare', false, 'gone', now())`)
	require.NoError(t, err)
	_, err = hostile.src.Exec(t.Context(), `DELETE FROM tasks; DELETE FROM tickets;
		UPDATE sandbox_events SET id = 'new-' || id; UPDATE sandbox_events SET sandbox_id = 'own' WHERE sandbox_id = '`+openBox+`';
		UPDATE claude_session_transcripts SET session_id = 'new-' || id, sandbox_id = '`+doneBox+`'; UPDATE claude_session_transcripts SET sandbox_id = 'own' WHERE id = 't2'`)
	require.NoError(t, err)
	r.options.DSN = hostile.dsn
	got := r.run(func(o *omoios.Options) { o.Into = "default" })
	require.EqualValues(t, 6, texts(got, "sandbox_events")["omoi has another sandbox with its sandbox ID"])
	require.EqualValues(t, 3, texts(got, "claude_session_transcripts")["omoi has another sandbox with its sandbox ID"])
	require.Equal(t, 4, value[int](t, r.dst, `SELECT last_sequence FROM sandboxes WHERE id = $1`, doneBox))
	require.Equal(t, 2, value[int](t, r.dst, `SELECT count(*) FROM transcripts`))
}
