package conductor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// world is a database with two organizations, each with one project.
type world struct {
	t             *testing.T
	pool          *pgxpool.Pool
	store         *postgres.Store
	orgs, project [2]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pool := pgtest.New(t)
	w := &world{t: t, pool: pool, store: postgres.New(pool, postgres.Config{})}
	for n := range w.orgs {
		w.orgs[n], w.project[n] = task.NewID(), task.NewID()
		w.exec(`INSERT INTO organizations (id, name) VALUES ($1, $2)`, w.orgs[n], fmt.Sprint("org ", n))
		w.exec(`INSERT INTO projects (id, organization_id, name) VALUES ($1, $2, 'p')`, w.project[n], w.orgs[n])
	}
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), sql, args...)
	require.NoError(w.t, err)
}

func (w *world) count(sql string, args ...any) int {
	w.t.Helper()
	var n int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), sql, args...).Scan(&n))
	return n
}

// works adds a task with a running agent to an organization and returns task and sandbox.
func (w *world) works(org int, title, description string) (taskID, box string) {
	w.t.Helper()
	taskID, box = task.NewID(), task.NewSandboxID()
	ticket := task.NewID()
	w.exec(`INSERT INTO tickets (id, project_id, title) VALUES ($1, $2, 't')`, ticket, w.project[org])
	w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, status, attempt_count)
		VALUES ($1, $2, $3, $4, $5, $6, 'scripted', 'external', 'running', 1)`, taskID, w.orgs[org], w.project[org], ticket, title, description)
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
		VALUES ($1, $2, $3, 1, 'external', false, 'running')`, box, w.orgs[org], taskID)
	w.exec(`UPDATE tasks SET sandbox_id = $2 WHERE id = $1`, taskID, box)
	return taskID, box
}

// thought stores an analysis of the guardian for a sandbox.
func (w *world) thought(box, verdict string, score float64) {
	w.t.Helper()
	w.exec(`INSERT INTO guardian_analyses (id, cycle_id, sandbox_id, organization_id, task_id, attempt, spoken_by, verdict, alignment_score,
			needs_steering, confidence, first_seen, last_seen, analysis, subject, rules, judged_at)
		SELECT $1::uuid, $1::uuid::text, s.id, s.organization_id, s.task_id, 1, 'model', $3::text, $4::float8, $3::text = 'steer', 0.9, 0, 0, '{}', '{}', '{}', now()
		FROM sandboxes s WHERE s.id = $2`, task.NewID(), box, verdict, score)
}

// changes stores an event of an agent that changed a file.
func (w *world) changes(box, file string) {
	w.t.Helper()
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT s.id, s.last_sequence + 1, s.partition_month, 'agent.file_edited', jsonb_build_object('file_path', $2::text) FROM sandboxes s WHERE s.id = $1`, box, file)
	w.exec(`UPDATE sandboxes SET last_sequence = last_sequence + 1 WHERE id = $1`, box)
}

func (w *world) conductor(model func() supervise.Finder) *conductor.Conductor {
	return conductor.New(conductor.Config{}, conductor.Deps{Store: w.store, Model: model})
}

// cycle runs a whole cycle of one range, as the workflow does.
func (w *world) cycle(c *conductor.Conductor, id string) contract.CycleProgress {
	w.t.Helper()
	done, err := try(w.t.Context(), c, id)
	require.NoError(w.t, err)
	require.NoError(w.t, c.End(w.t.Context(), contract.CycleReport{ID: id}))
	return done
}

func try(ctx context.Context, c *conductor.Conductor, id string) (contract.CycleProgress, error) {
	ids, _, err := c.Begin(ctx, id)
	if err != nil || len(ids) == 0 {
		return contract.CycleProgress{}, err
	}
	return c.Analyze(ctx, contract.Range{CycleID: id, Upto: ids[len(ids)-1], Count: len(ids)}, contract.CycleProgress{}, func(contract.CycleProgress) {})
}

// newest returns the newest analysis of an organization.
func (w *world) newest(org int) conductor.Analysis {
	w.t.Helper()
	page, err := w.store.ConductorAnalyses(w.t.Context(), w.orgs[org], client.PageRequest{Limit: 1})
	require.NoError(w.t, err)
	require.Len(w.t, page.Items, 1)
	return page.Items[0]
}

func (w *world) duplicates(org int, taskID string) []conductor.Duplicate {
	w.t.Helper()
	q := client.GuardianQuery{PageRequest: client.PageRequest{Limit: 10}}
	if taskID != "" {
		q.TaskIDs = []string{taskID}
	}
	page, err := w.store.Duplicates(w.t.Context(), w.orgs[org], q)
	require.NoError(w.t, err)
	return page.Items
}

const cart, cartToo = "Checkout crashes when the cart is empty. Answer 400.", "With an empty cart checkout crashes; it should answer 400."

func TestAFleetIsLookedAtOnceInACycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, boxA := w.works(0, "Crash on empty cart at checkout", cart)
	b, boxB := w.works(0, "Checkout: empty cart crashes", cartToo)
	_, boxC := w.works(0, "Rotate API keys", "Let admins rotate the key of an integration.")
	w.works(1, "Checkout: empty cart crashes", cartToo)
	w.thought(boxA, "healthy", 0.8)
	w.thought(boxB, "steer", 0.4)
	w.changes(boxA, "src/cart.go")
	w.changes(boxB, "src/cart.go")
	w.changes(boxC, "src/keys.go")
	require.Equal(t, contract.CycleProgress{Analyzed: 2, Duplicates: 1, Upto: max(w.orgs[0], w.orgs[1])}, w.cycle(w.conductor(nil), "one"))

	got := w.newest(0)
	require.Equal(t, []int{3, 2, 1, 1}, []int{got.Agents, got.Analyzed, got.Duplicates, got.Coordinations})
	require.InDelta(t, 0.6-0.1-0.15+1.0/3*0.1+0.1, *got.Coherence, 1e-9, "of two of three it is known")
	require.Equal(t, supervise.FleetWarning, got.Status)
	require.Contains(t, string(got.Details), "src/cart.go")
	require.Nil(t, w.newest(1).Coherence, "nobody knows")
	require.Zero(t, w.newest(1).Duplicates, "who does the same elsewhere does not count")
	require.Equal(t, 2, w.count(`SELECT count(*) FROM bus_events WHERE event_type = 'monitoring.conductor.analysis'`))

	links := w.duplicates(0, b)
	require.Len(t, links, 1)
	require.Equal(t, []string{a, b, boxA, boxB}, []string{links[0].TaskID, links[0].OtherID, links[0].SandboxID, links[0].OtherBox})
	require.Equal(t, conductor.SourceText, links[0].Source)
	require.JSONEq(t, `{"files": ["src/cart.go"]}`, string(links[0].Resources))
	require.Equal(t, got.ID, *links[0].AnalysisID)
	require.Empty(t, w.duplicates(1, ""))

	w.cycle(w.conductor(nil), "one") // the same cycle again
	require.Equal(t, 2, w.count(`SELECT count(*) FROM conductor_analyses`))
	require.Equal(t, 1, w.duplicates(0, a)[0].Cycles)
	w.cycle(w.conductor(nil), "two")
	require.Equal(t, 4, w.count(`SELECT count(*) FROM conductor_analyses`))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM detected_duplicates`), "a pair is one link")
	require.Equal(t, 2, w.duplicates(0, a)[0].Cycles)

	hour, err := w.store.ConductorHour(t.Context(), w.orgs[0])
	require.NoError(t, err)
	require.Equal(t, 1, hour.Duplicates)
	require.InDelta(t, *got.Coherence, *hour.Coherence, 1e-9)
}

// dying is a store whose process dies after it has stored an analysis, before it returns.
type dying struct {
	*postgres.Store

	die context.CancelFunc
}

var errKilled = errors.New("killed")

func (d *dying) SaveConducted(ctx context.Context, a conductor.Analysis, pairs []conductor.Duplicate) (bool, error) {
	saved, err := d.Store.SaveConducted(ctx, a, pairs)
	if !saved || err != nil {
		return saved, err
	}
	d.die()
	return false, errKilled
}

func TestACycleThatIsKilledAnywhereLooksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range w.orgs {
		w.works(n, "Crash on empty cart at checkout", cart)
		w.works(n, "Checkout: empty cart crashes", cartToo)
	}
	for range 2 { // each process dies after one analysis
		ctx, die := context.WithCancel(t.Context())
		d := &dying{Store: w.store, die: die}
		_, err := try(ctx, conductor.New(conductor.Config{}, conductor.Deps{Store: d}), "one")
		require.Error(t, err)
		die()
	}
	var group sync.WaitGroup
	for range 4 { // then after four analyses
		group.Go(func() {
			done, err := try(t.Context(), w.conductor(nil), "one")
			require.NoError(t, err)
			require.Equal(t, 2, done.Analyzed)
		})
	}
	group.Wait()
	require.Equal(t, 2, w.count(`SELECT count(*) FROM conductor_analyses`))
	require.Equal(t, 2, w.count(`SELECT count(*) FROM detected_duplicates WHERE cycles = 1`))
}

// knowing is a model with fixed answers.
type knowing struct {
	mu    sync.Mutex
	asked []string
	say   map[[2]string]supervise.Match // by the titles of the new and the open work
	err   error
}

func (k *knowing) FindDuplicates(_ context.Context, work supervise.WorkText, open []string) ([]supervise.Match, supervise.ModelUse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, work.Title+": "+strings.Join(open, ", "))
	var found []supervise.Match
	for n, title := range open {
		if m, ok := k.say[[2]string{work.Title, title}]; ok {
			m.At = n
			found = append(found, m)
		}
	}
	return found, supervise.ModelUse{Calls: 1, InputTokens: 100}, k.err
}

// One call about each new task names all open titles; words see nothing here.
func TestConductor_AsksOnceAboutEachNewTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, _ := w.works(0, "Sign in with Google", "Let users log in with their Google account by OAuth, beside the password.")
	w.works(0, "Google OAuth login", "Users should be able to log in with a Google account (OAuth) as well as by password.")
	w.works(0, "Sign in with GitHub", "Let users log in with their GitHub account by OAuth, beside the password.")
	w.works(1, "Google OAuth login", "")
	k := &knowing{err: errors.New("it is down")}
	c := w.conductor(func() supervise.Finder { return k })
	w.cycle(c, "down")
	require.Zero(t, w.count(`SELECT count(*) FROM detected_duplicates`), "nothing has spoken")

	k.err, k.asked, k.say = nil, nil, map[[2]string]supervise.Match{
		{"Google OAuth login", "Sign in with Google"}: {Similarity: 0.95, Confidence: 0.9, Work: "The login by Google."},
		{"Sign in with GitHub", "Google OAuth login"}: {Similarity: 0.9, Confidence: 0.3, Work: "Perhaps."},
	}
	w.cycle(c, "one")
	require.ElementsMatch(t, []string{"Google OAuth login: Sign in with Google", "Sign in with GitHub: Sign in with Google, Google OAuth login"}, k.asked)
	links := w.duplicates(0, first)
	require.Len(t, links, 1)
	require.Equal(t, []string{conductor.SourceModel, "The login by Google."}, []string{links[0].Source, links[0].Work})
	require.Equal(t, 2, w.count(`SELECT count(*) FROM detected_duplicates WHERE NOT is_duplicate AND spoken_by = 'model'`))
	require.Contains(t, string(w.newest(0).Details), `"duplicates_by": "model"`)

	w.cycle(c, "two")
	require.Len(t, k.asked, 2, "what it has said stands")
	w.works(0, "Translate the labels", "Into French.")
	w.cycle(c, "three")
	require.Equal(t, "Translate the labels: Sign in with Google, Google OAuth login, Sign in with GitHub", k.asked[2])
	require.Len(t, k.asked, 3)
	w.cycle(w.conductor(nil), "four")
	require.Equal(t, conductor.SourceModel, w.duplicates(0, first)[0].Source, "texts take nothing of it back")
	require.Contains(t, string(w.newest(0).Details), `"duplicates_by": "text"`)
}

// A task that ends lets no older task into the questions about the later ones.
func TestConductor_AsksOnceInALargeProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range supervise.MostTitles + 2 {
		w.works(0, fmt.Sprintf("Page %d", n), strings.Repeat(fmt.Sprintf("word%d ", n), 3))
	}
	k := &knowing{}
	c, asked := w.conductor(func() supervise.Finder { return k }), -1
	for n := 0; asked < len(k.asked); n++ {
		asked = len(k.asked)
		w.cycle(c, fmt.Sprint("cycle ", n))
	}
	require.Equal(t, supervise.MostTitles+1, asked, "once about each task but the first")
	k.asked = nil
	w.exec(`UPDATE tasks SET status = 'completed' WHERE title = 'Page 5'`)
	w.cycle(c, "later")
	require.Empty(t, k.asked)
}

// The agent of a task may start after those of newer tasks, which are then compared with the task.
func TestConductor_AsksAboutAnOlderTaskThatStartsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.works(0, "Sign in with Google", "Let users log in with their Google account.")
	w.works(0, "Rotate API keys", "Let admins rotate the key of an integration.")
	k := &knowing{}
	c := w.conductor(func() supervise.Finder { return k })
	w.cycle(c, "one")
	w.works(0, "Translate the labels", "Into French.")
	w.exec(`UPDATE tasks SET created_at = created_at - interval '1 hour' WHERE title = 'Translate the labels'`)
	w.cycle(c, "two")
	require.ElementsMatch(t, []string{
		"Rotate API keys: Sign in with Google", "Sign in with Google: Translate the labels", "Rotate API keys: Translate the labels",
	}, k.asked)
}

func TestOldAnalysesAreForgottenAndLinksStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.works(0, "Crash on empty cart at checkout", cart)
	w.works(0, "Checkout: empty cart crashes", cartToo)
	w.cycle(w.conductor(nil), "one")
	w.exec(`UPDATE conductor_analyses SET created_at = created_at - interval '15 days'`)
	w.exec(`UPDATE tasks SET status = 'completed' WHERE title LIKE 'Crash%'`)
	w.cycle(w.conductor(nil), "two")
	require.Equal(t, 1, w.newest(0).Agents)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM conductor_analyses`))
	links := w.duplicates(0, "")
	require.Len(t, links, 1)
	require.Nil(t, links[0].AnalysisID)
	require.Contains(t, []task.Status{links[0].Status, links[0].OtherState}, task.StatusCompleted)
}

func TestASilentConductorIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	silence := func() time.Duration {
		d, err := w.store.Unwatched(t.Context(), "conductor")
		require.NoError(t, err)
		return d
	}
	require.Negative(t, silence(), "nobody is at work")
	w.works(0, "a", "b")
	w.exec(`UPDATE tasks SET assigned_at = now() - interval '1 hour'`)
	require.GreaterOrEqual(t, silence(), time.Hour)
	age, err := w.store.ConductorAge(t.Context())
	require.NoError(t, err)
	require.Negative(t, age)
	w.cycle(w.conductor(nil), "one")
	require.Less(t, silence(), time.Hour)
	w.exec(`UPDATE tasks SET status = 'completed'`)
	w.exec(`UPDATE component_heartbeats SET at = now() - interval '1 hour'`)
	require.Negative(t, silence(), "nobody is at work any more")
	state, err := w.store.State(t.Context())
	require.NoError(t, err)
	require.Contains(t, state.LastSuccess, "conductor")
	var details supervise.Fleet
	require.NoError(t, json.Unmarshal(w.newest(0).Details, &details))
	require.Equal(t, 1, details.Agents)
}

// Conflicts come from stored facts: the files that agents report, the dependencies of tasks, and findings of the guardian.
func TestConductor_ShowsConflictsWithoutAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, a := w.works(0, "Rotate API keys", "Let admins rotate the key of an integration.")
	second, b := w.works(0, "Crash on empty cart at checkout", cart)
	w.changes(a, "/home/x/workspace/go.mod")
	w.changes(b, "README.md")
	w.changes(b, "go.mod")
	w.changes(b, "go.mod")
	w.exec(`INSERT INTO task_dependencies (task_id, depends_on) VALUES ($1, $2)`, second, first)
	w.thought(a, "steer", 0.2)
	w.exec(`UPDATE guardian_analyses SET spoken_by = 'rules', analysis = '{"findings": [
		{"rule": "outside_paths", "label": "drift", "why": "go.mod is outside of src.", "confidence": 0.9, "evidence": [1]},
		{"rule": "outside_paths", "label": "drift", "why": "too weak", "confidence": 0.1}, {"rule": "loop", "label": "loop", "why": "no conflict", "confidence": 0.9}]}'`)
	w.cycle(w.conductor(nil), "facts")
	var f supervise.Fleet
	require.NoError(t, json.Unmarshal(w.newest(0).Details, &f))
	require.Nil(t, f.Coherence)
	require.Equal(t, map[string]int{supervise.UnknownNotAnalyzed: 1}, f.UnknownReasons)
	require.Equal(t, 2, f.Conflicting)
	got := map[string][]int64{}
	for _, c := range f.Conflicts {
		for _, p := range c.Evidence {
			got[c.Kind+" "+p.TaskID] = p.Events
			require.NotEmpty(t, p.TaskKey)
		}
	}
	require.Equal(t, map[string][]int64{
		"open_dependency " + second: {}, "open_dependency " + first: {}, "outside_limits " + first: {1}, "same_file " + first: {1}, "same_file " + second: {3},
	}, got)
}

// Tasks of one comparison do the same work on purpose: they are no duplicates of each other, and their files are no conflict. Those of
// another task are.
func TestConductor_LeavesComparisonsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, a := w.works(0, "Empty cart", cart)
	_, b := w.works(0, "Empty cart", cart)
	w.exec(`UPDATE tasks SET execution_config = '{"candidate": {}}', ticket_id = (SELECT ticket_id FROM tasks WHERE id = $1)`, first)
	w.changes(a, "cart.go")
	w.changes(b, "cart.go")
	model := &knowing{}
	w.cycle(w.conductor(func() supervise.Finder { return model }), "alone")
	require.Empty(t, w.duplicates(0, ""))
	require.Empty(t, model.asked)
	require.Equal(t, 0, w.conflicts())

	third, c := w.works(0, "Empty cart", cart)
	w.changes(c, "cart.go")
	w.cycle(w.conductor(nil), "another")
	require.Len(t, w.duplicates(0, third), 1)
	require.Equal(t, 1, w.conflicts())
}

// conflicts counts the conflicts of the newest analysis.
func (w *world) conflicts() int {
	w.t.Helper()
	var f supervise.Fleet
	require.NoError(w.t, json.Unmarshal(w.newest(0).Details, &f))
	return len(f.Conflicts)
}
