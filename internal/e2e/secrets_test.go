package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// The secrets that are planted. Each is told apart from all others by its name.
const (
	plantedTokenKey = "planted-token-key-0123456789abcdef"
	plantedPassword = "plantedDatabasePassword0123456789"
	plantedAPIKey   = "omoi_plantedApiKey0123456789abcdef"
	plantedModel    = "sk-ant-plantedModelKey0123456789abcdef"
	plantedClaude   = "sk-ant-oat01-plantedClaude0123456789abcdef"
	plantedGitHub   = "ghp_plantedGitHub0123456789abcdefABCD"
	plantedDaytona  = "dtn_plantedDaytona0123456789abcdef"
	plantedHooks    = "planted-webhooks-0123456789abcdef"
	plantedLogins   = "plantedSecretOfLogins0123456789abcdef" // signs JWTs
	plantedBearer   = "plantedBearerOfModels0123456789abcdef"
	plantedRedis    = "plantedRedisPassword0123456789"
	plantedEnv      = "plantedTaskEnvironment0123456789"
	plantedOutput   = "plantedAgentOutput0123456789"
	plantedFailure  = "plantedFailureText0123456789"
	plantedTitle    = "ghp_plantedTitle0123456789abcdefABCDE"

	plantedKeeper = "planted-credential-key-012345678" // encrypts those of users
	plantedOwn    = "sk-ant-plantedOwnModel0123456789abcdef"
	plantedOwnSub = "sk-ant-oat01-plantedOwnClaude0123456789"
	plantedOwnGit = "ghp_plantedOwnGitHub0123456789abcdefAB"
	plantedOwnAI  = "plantedOwnOpenAI0123456789"
	plantedSecond = "plantedSecondOpenAI0123456789"
	plantedBob    = "sk-ant-plantedModelOfBob0123456789abcd"
)

// personal are the credentials of users: they stand nowhere but sealed, and with the agents of their own tasks.
func personal() []string {
	return []string{plantedOwn, plantedOwnSub, plantedOwnGit, plantedOwnAI, plantedSecond, plantedBob}
}

// platform are the credentials of the installation: they stand nowhere.
func platform() []string {
	return []string{
		plantedTokenKey, plantedPassword, plantedAPIKey, plantedModel, plantedClaude, plantedGitHub, plantedDaytona, plantedHooks, plantedRedis, plantedKeeper,
		plantedLogins, plantedBearer,
	}
}

// allowed says in which columns a planted secret may stand, and why.
func allowed() map[string][]string {
	return map[string][]string{
		// a person gave it to the task; it is kept to be given to the agent
		plantedEnv: {"tasks.execution_config"},
		// the agent printed it: it stands in its events, in its transcript, and in the answer that it chose to give; the script is a person's
		plantedOutput: {"tasks.execution_config", "sandbox_events.event_data", "transcripts.content", "tasks.result"},
		// the agent's own words for why it failed
		plantedFailure: {"tasks.execution_config", "sandbox_events.event_data", "transcripts.content", "tasks.error_message", "attempts.reason", "stored_texts.content", "bus_events.payload", "diagnoses.said"},
		// a person wrote it into the title, which stands where titles stand; the agent says at its start what it was given
		plantedTitle: {"tasks.title", "tickets.title", "sandbox_events.event_data"},
	}
}

// TestPlantedSecretsStandNowhere runs tasks that succeed, fail, lose their agent and are
// cancelled, with a secret in every place that a secret can come from, over a database
// that is killed in between, and then looks everywhere (P8).
func TestPlantedSecretsStandNowhere(t *testing.T) {
	t.Parallel()
	began := time.Now()
	r := newRig(t, nil)
	repo := r.repo()
	r.plant()
	r.plantClaude()
	spy := newSpy(r)
	r.startAPI()
	owner, keys := r.plantPersonal()
	r.startWorker()
	env := `"env":{"MY_SECRET":"` + plantedEnv + `"},"script":{"steps":[`
	with := func(steps ...string) []byte { return []byte(`{` + env + strings.Join(steps, ",") + `]}}`) }
	titled := func(in *apiclient.CreateTaskRequest) { in.Title = "Rotate " + plantedTitle + " today" }

	halves := plantedOutput[:9] + "''" + plantedOutput[9:] // what a script names stands in the command line of its shell
	good := r.submit(repo, with(`{"bash":{"command":"test -n \"$MY_SECRET\" && echo `+halves+`"}}`, stepWrite, stepCommit,
		`{"complete":{"output":"{{last_output}}","success":true}}`), titled)
	bad := r.submit(repo, with(`{"bash":{"command":"echo dirty > dirty.txt; sleep 1"}}`, `{"fail":"`+plantedFailure+`"}`), titled, retries(0))
	crashed := r.submit(repo, with(`{"bash":{"command":"echo dirty > dirty.txt; sleep 1; kill -9 $PPID"}}`), titled, retries(0))
	printed, posted := r.printers(repo)
	told := r.claudeTells(repo)
	stopped := r.submit(repo, with(stepWrite, stepHang), titled)
	r.running(stopped.ID)
	r.eventually("an agent is seen: else the look at processes proves nothing", func() bool { return spy.agents() > 0 })
	_, _, err := r.api.Cancel(context.Background(), stopped.ID, "enough")
	require.NoError(t, err)
	for _, id := range []string{good.ID, printed.ID, posted.ID, told.ID} {
		r.ends(id, task.StatusCompleted)
	}
	r.showsNoSecret(owner, printed, posted)
	for _, pid := range r.parts("postgres") { // its absence is logged by everybody
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	r.ends(bad.ID, task.StatusFailed)
	r.ends(crashed.ID, task.StatusFailed)
	r.ends(stopped.ID, task.StatusCancelled)
	r.noLeaks()
	require.Equal(t, task.SalvageRef, r.task(crashed.ID).Attempts[0].Salvage.Kind)
	require.Equal(t, task.SalvageRef, r.task(stopped.ID).Attempts[0].Salvage.Kind)
	require.Empty(t, spy.stop(), "a secret in a command line or in a stranger's environment")
	r.claudeToldNothing(told)
	given := append(append(append(platform(), personal()...), plantedEnv), keys...)
	ids := []string{good.ID, bad.ID, crashed.ID, printed.ID, posted.ID, told.ID, stopped.ID}
	require.Empty(t, r.inAnswers(append(given, r.tokens()...), ids...), "a secret in an answer")
	r.stop("worker")
	r.stop("api")

	secrets := append(append(platform(), personal()...), slices.Sorted(maps.Keys(allowed()))...)
	secrets = append(append(secrets, r.tokens()...), keys...)
	require.Empty(t, r.inHistories(secrets, ids...), "a secret in a history")
	require.Empty(t, r.inTables(secrets), "a secret in a table")
	require.Empty(t, r.inFiles(secrets, began), "a secret in a file")
	require.Empty(t, r.inRepositories(append(given, r.tokens()...)), "a secret in a repository")
}

// printers are tasks whose agents print all that they were given: as the output of a step, as
// that of a program, and by an event that a program posts by itself.
func (r *rig) printers(repo string) (printed, posted task.Task) {
	r.t.Helper()
	const show = `env; cat "${WORKSPACE_PATH%/*}/omoi/agent.json"`
	const post = `import json, os, urllib.request as u
url = os.environ["CALLBACK_URL"] + "/api/v1/sandboxes/" + os.environ["SANDBOX_ID"] + "/events"
event = {"event_type": "agent.message", "event_data": {"content": "posted to " + url}, "source": "agent"}
u.urlopen(u.Request(url, json.dumps(event).encode(), {"Content-Type": "application/json"}))
`
	submit := func(agent string, config map[string]any) task.Task {
		config["credentials"] = []string{"anthropic", "github", "openai"}
		config["env"] = map[string]string{"MY_SECRET": plantedEnv, "REQUIRE_CODE_PUSHED": "false", "DATABASE_URL": "postgres://me:" + plantedEnv + "@db/x"}
		text, err := json.Marshal(config)
		require.NoError(r.t, err)
		return r.submit(repo, text, func(in *apiclient.CreateTaskRequest) { in.Agent = agent }, retries(0))
	}
	steps := []any{map[string]string{"bash": show}, map[string]any{"complete": map[string]any{"output": "{{last_output}}", "success": true}}}
	printed = submit(task.AgentScripted, map[string]any{"script": map[string]any{"steps": steps}})
	posted = submit(task.AgentCommand, map[string]any{"command": []string{"sh", "-c", show + "; python3 -c '" + post + "' || true"}})
	return printed, posted
}

// showsNoSecret looks whether the tasks printed at all, for whom they worked, and what the API shows of them.
func (r *rig) showsNoSecret(owner string, printed, posted task.Task) {
	r.t.Helper()
	count := func(id, text string) (n int) {
		require.NoError(r.t, r.pool.QueryRow(context.Background(), `SELECT count(*) FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id
			WHERE s.task_id = $1 AND strpos(e.event_data::text, $2) > 0`, id, text).Scan(&n))
		return n
	}
	for _, made := range []task.Task{printed, posted} {
		require.Positive(r.t, count(made.ID, "MY_SECRET=[redacted]"), "it did not print its environment")
		require.Positive(r.t, count(made.ID, `\"token\":\"[redacted]\"`), "it did not print its configuration")
		require.Positive(r.t, count(made.ID, "USER_ID="+owner), "it works for another")
		for _, name := range []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "OPENAI_API_KEY"} {
			require.Positive(r.t, count(made.ID, name+"=[redacted]"), "it was not given %s", name)
		}
		require.Positive(r.t, count(made.ID, "ANTHROPIC_MODEL=model-of-the-owner"), "it was given another's")
		require.NotContains(r.t, string(r.task(made.ID).Execution), plantedEnv)
	}
	require.Positive(r.t, count(posted.ID, "/t/[redacted]"), "a program knows its URL")
	if _, err := exec.LookPath("python3"); err == nil {
		require.Equal(r.t, 1, count(posted.ID, "posted to "+r.env["OMOI_API_CALLBACK_URL"]+"/t/[redacted]/api/v1"))
	}
}

// plant gives the installation its secrets.
func (r *rig) plant() {
	r.t.Helper()
	u, err := url.Parse(r.env["DATABASE_URL"])
	require.NoError(r.t, err)
	u.User = url.UserPassword(u.User.Username(), plantedPassword)
	maps.Copy(r.env, map[string]string{
		"DATABASE_URL": u.String(), "OMOI_API_AUTH_DISABLED": "false", "OMOI_API_KEY": plantedAPIKey,
		"OMOI_TOKEN_KEY": "tests." + base64.RawStdEncoding.EncodeToString([]byte(plantedTokenKey)),

		"AUTH_JWT_SECRET_KEY": plantedLogins, "ANTHROPIC_AUTH_TOKEN": plantedBearer,
		"OMOI_CREDENTIAL_KEYS": "tests:" + base64.StdEncoding.EncodeToString([]byte(plantedKeeper)),
		"ANTHROPIC_API_KEY":    plantedModel, "CLAUDE_CODE_OAUTH_TOKEN": plantedClaude, "GITHUB_TOKEN": plantedGitHub,
		"DAYTONA_API_KEY": plantedDaytona, "DAYTONA_API_URL": "http://127.0.0.1:1/api", "REDIS_URL": "redis://:" + plantedRedis + "@127.0.0.1:1/0",
		"OMOI_GITHUB_WEBHOOK_SECRET": plantedHooks, "OMOI_LOG_LEVEL": "debug",
	})
	r.api = apiclient.New(r.env["OMOI_API_URL"], plantedAPIKey)
}

// plantPersonal gives credentials to the user of the rig's key, whom it answers, and to another one. keys are those that it
// made for that.
func (r *rig) plantPersonal() (owner string, keys []string) {
	r.t.Helper()
	ctx := r.t.Context()
	made, err := r.api.CreateKey(ctx, apiclient.CreateAPIKeyRequest{Name: "of bob", User: "bob"})
	require.NoError(r.t, err)
	bob := apiclient.New(r.env["OMOI_API_URL"], made.Secret)
	_, err = bob.SetCredential(ctx, credential.Anthropic, apiclient.SetCredentialRequest{Secret: plantedBob, Models: credential.Models{Model: "model-of-bob"}})
	require.NoError(r.t, err)
	_, err = r.api.SetCredential(ctx, credential.Anthropic, apiclient.SetCredentialRequest{Secret: plantedOwn, Models: credential.Models{Model: "model-of-the-owner"}})
	require.NoError(r.t, err)
	_, err = r.api.SetCredential(ctx, credential.ClaudeOAuth, apiclient.SetCredentialRequest{Secret: plantedOwnSub})
	require.NoError(r.t, err)
	own, err := r.api.CreateKey(ctx, apiclient.CreateAPIKeyRequest{Name: "of a shell"})
	require.NoError(r.t, err)
	pipe := exec.CommandContext(ctx, r.program(), "credentials", "set", credential.GitHub)
	pipe.Env = []string{"HOME=" + r.dir, "OMOI_API_URL=" + r.env["OMOI_API_URL"], "OMOI_API_KEY=" + own.Secret}
	pipe.Dir, pipe.Stdin = r.dir, strings.NewReader(plantedOwnGit+"\n")
	said, err := pipe.CombinedOutput()
	require.NoError(r.t, err, "%s", said)
	require.NotContains(r.t, string(said), plantedOwnGit)
	_, err = r.api.SetCredential(ctx, "openai", apiclient.SetCredentialRequest{Secret: plantedOwnAI})
	require.NoError(r.t, err)
	_, err = r.api.SetCredential(ctx, "openai", apiclient.SetCredentialRequest{Secret: plantedSecond, Number: 2})
	require.NoError(r.t, err)
	return own.UserID, []string{made.Secret, own.Secret}
}

// tokens are those of every sandbox that was.
func (r *rig) tokens() []string {
	r.t.Helper()
	ring, err := token.NewRing(token.Key{ID: "tests", Secret: []byte(plantedTokenKey)}, nil)
	require.NoError(r.t, err)
	rows, err := r.pool.Query(context.Background(), `SELECT id FROM sandboxes`)
	require.NoError(r.t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var id string
		require.NoError(r.t, rows.Scan(&id))
		all = append(all, ring.Mint(id))
	}
	require.NotEmpty(r.t, all)
	return all
}

// needles are the forms in which a secret could be written down.
type needles map[string][][]byte

func needlesOf(secrets []string) needles {
	all := make(needles, len(secrets))
	for _, s := range secrets {
		slug := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) // as in the name of a branch
		forms := [][]byte{[]byte(s), []byte(strings.ToLower(s)), []byte(url.QueryEscape(s)), []byte(slug[:min(len(slug), 20)])}
		for shift := range 3 { // base64 of a text that the secret is part of
			whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + s))
			forms = append(forms, []byte(whole[4:len(whole)-4]))
		}
		all[s] = forms
	}
	return all
}

// in answers the secrets that stand in raw.
func (n needles) in(raw []byte) []string {
	var found []string
	for secret, forms := range n {
		if slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(raw, form) }) {
			found = append(found, secret)
		}
	}
	return found
}

// inHistories searches every event of every run of every workflow, and what a list shows of it; those of the tasks
// must be among them.
func (r *rig) inHistories(secrets []string, tasks ...string) []string {
	r.t.Helper()
	ctx, look := context.Background(), needlesOf(secrets)
	page, err := r.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
	require.NoError(r.t, err)
	var found, seen []string
	for _, run := range page.GetExecutions() {
		id, runID := run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId()
		if of, ok := contract.TaskIDOf(id); ok {
			seen = append(seen, of)
		}
		described, err := r.temporal.DescribeWorkflowExecution(ctx, id, runID)
		require.NoError(r.t, err)
		found = append(append(found, look.message(id+" in the list", run)...), look.message(id+" described", described)...)
		events := r.temporal.GetWorkflowHistory(ctx, id, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(r.t, err)
			found = append(found, look.message(fmt.Sprintf("%s %d %s", id, e.GetEventId(), e.GetEventType()), e)...)
		}
	}
	require.Subset(r.t, seen, tasks)
	return found
}

func (n needles) message(where string, m proto.Message) []string {
	raw, err := proto.Marshal(m)
	if err != nil {
		return []string{where + ": " + err.Error()}
	}
	var found []string
	for _, s := range n.in(raw) {
		found = append(found, s+" in "+where)
	}
	return found
}

// inTables searches every column of every table.
func (r *rig) inTables(secrets []string) []string {
	r.t.Helper()
	ctx, may, look := context.Background(), allowed(), needlesOf(secrets)
	var found []string
	for _, column := range r.columns() {
		table, name, _ := strings.Cut(column, ".")
		rows, err := r.pool.Query(ctx, fmt.Sprintf(`SELECT CASE WHEN pg_typeof(%[1]q) = 'bytea'::regtype THEN encode(%[1]q::text::bytea, 'escape') ELSE %[1]q::text END
			FROM %[2]q WHERE %[1]q IS NOT NULL`, name, table))
		require.NoError(r.t, err, column)
		for rows.Next() {
			var value string
			require.NoError(r.t, rows.Scan(&value))
			for _, s := range look.in([]byte(value)) {
				if !slices.Contains(may[s], column) && !slices.Contains(found, s+" in "+column) {
					found = append(found, s+" in "+column)
				}
			}
		}
		require.NoError(r.t, rows.Err())
		rows.Close()
	}
	return found
}

// columns are those of all tables; a partition's are its parent's.
func (r *rig) columns() []string {
	r.t.Helper()
	rows, err := r.pool.Query(context.Background(), `SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped`)
	require.NoError(r.t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var column string
		require.NoError(r.t, rows.Scan(&column))
		all = append(all, column)
	}
	require.Contains(r.t, all, "sandbox_events.event_data")
	require.Contains(r.t, all, "sandboxes.labels")
	return all
}

// inFiles searches what was written since the test began and is still there: logs, the
// home, what is left of sandboxes, Temporal's own database, temporary files. The data of PostgreSQL
// is searched as tables; titles and outputs may stand in the repository.
func (r *rig) inFiles(secrets []string, since time.Time) []string {
	r.t.Helper()
	mine, theirs := needlesOf(secrets), needlesOf(append(append(platform(), personal()...), r.tokens()...))
	var found []string
	search := func(root string, look needles) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // others' files come and go
			case d.IsDir():
				return skipped(root, path, r.dir)
			case !fresh(d, since):
				return nil
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil //nolint:nilerr // likewise
			}
			for _, s := range look.in(raw) {
				found = append(found, s+" in "+path)
			}
			return nil
		})
	}
	search(r.dir, mine)
	search(os.TempDir(), theirs)
	search("/var/lib/omoi", theirs)
	return found
}

// skipped leaves out PostgreSQL's data, repositories of the test, this test's own folder where
// it is searched already, and these tests themselves where somebody puts another copy of them.
func skipped(root, path, own string) error {
	base := filepath.Base(path)
	if path != root && (path == own || base == "base" || base == "pg_wal" || base == "e2e" || strings.HasPrefix(base, "go-build") || strings.HasPrefix(base, "repo-")) {
		return fs.SkipDir
	}
	return nil
}

// fresh leaves out what was there before, and what no log or key file is as large as.
func fresh(d fs.DirEntry, since time.Time) bool {
	const largest = 64 << 20
	info, err := d.Info()
	return err == nil && info.Mode().IsRegular() && info.ModTime().After(since) && info.Size() <= largest
}

// spy looks at all processes of the machine, over and over: at their command lines, and at
// the environment of those which are not the servers that were given the secrets.
type spy struct {
	rig  *rig
	look needles
	end  chan struct{}
	done chan struct{}

	mu    sync.Mutex
	seen  int
	found []string
}

func newSpy(r *rig) *spy {
	s := &spy{rig: r, look: needlesOf(append(append(platform(), personal()...), plantedEnv, plantedOutput, plantedTitle)), end: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	r.t.Cleanup(func() { s.stop() })
	return s
}

func (s *spy) run() {
	defer close(s.done)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.end:
			return
		case <-tick.C:
			s.round()
		}
	}
}

func (s *spy) round() {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	given := s.rig.servers()
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil || pid == os.Getpid() {
			continue
		}
		s.note(s.look.in(line), "command line", line)
		if bytes.Contains(line, []byte("agent.json")) {
			s.mu.Lock()
			s.seen++
			s.mu.Unlock()
		}
		if slices.Contains(given, pid) || bytes.HasPrefix(line, []byte(filepath.Join(bin, "omoi")+"\x00api")) ||
			bytes.HasPrefix(line, []byte(filepath.Join(bin, "omoi")+"\x00worker")) {
			continue
		}
		if env, err := os.ReadFile(filepath.Join(folder, "environ")); err == nil {
			s.note(s.look.only(append(platform(), plantedBob)).in(env), "environment", line)
		}
	}
}

// only is the needles of some secrets.
func (n needles) only(secrets []string) needles {
	some := make(needles, len(secrets))
	for _, secret := range secrets {
		some[secret] = n[secret]
	}
	return some
}

func (s *spy) note(secrets []string, where string, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		text := fmt.Sprintf("%s in the %s of %s", secret, where, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		if len(s.found) < 20 && !slices.Contains(s.found, text) {
			s.found = append(s.found, text)
		}
	}
}

// agents is how often the program of an agent was seen.
func (s *spy) agents() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *spy) stop() []string {
	select {
	case <-s.end:
	default:
		close(s.end)
	}
	<-s.done
	return s.found
}

// servers are the processes that this rig started.
func (r *rig) servers() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pids []int
	for _, p := range r.procs {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

// TestWrongSettingsDoNotShowSecrets starts programs with settings that cannot work: none of
// them prints the secret that is part of one.
func TestWrongSettingsDoNotShowSecrets(t *testing.T) {
	t.Parallel()
	const secret = "wronglySetSecret0123456789"
	r := newRig(t, nil)
	for _, c := range []struct{ name, value string }{
		{"DATABASE_URL", "postgres://omoi:" + secret + "@127.0.0.1:1/none"},
		{"DATABASE_URL", "postgres://omoi:" + secret + "@127.0.0.1:port/none"},
		{"DATABASE_URL", "postgres://omoi:" + secret + "%zz@[/none"},
		{"DATABASE_URL", "postgres://omoi:" + secret + "@127.0.0.1:1/none?sslmode=perhaps"},
		{"DATABASE_URL", "host=127.0.0.1 password=" + secret},
		{"OMOI_TOKEN_KEY", "tests." + secret},
		{"OMOI_TOKEN_KEY", secret},
		{"OMOI_CREDENTIAL_KEYS", "tests:" + secret},
		{"OMOI_CREDENTIAL_KEYS", secret},
		{"REDIS_URL", "redis://:" + secret + "@["},
		{"REDIS_URL", "redis://:" + secret + "@127.0.0.1:1/many"},
	} {
		for _, args := range [][]string{{"api"}, {"worker"}, {"dev", "--home", filepath.Join(r.dir, "other")}, {"migrate", "status"}, {"doctor"}, {"config", "show"}, {"ps"}} {
			env := maps.Clone(r.env)
			env[c.name] = c.value
			got := r.with(env, args...)
			require.NotContains(t, strings.ToLower(got.stdout+got.stderr), strings.ToLower(secret[:12]), "%s with %s=%s", args, c.name, c.value)
			if len(args) == 1 && args[0] != "doctor" && args[0] != "ps" {
				require.NotZero(t, got.code, "%s with %s=%s", args, c.name, c.value)
				require.NotEmpty(t, got.stderr)
			}
		}
	}
}

// with runs omoi with another environment.
func (r *rig) with(env map[string]string, args ...string) result {
	r.t.Helper()
	own := r.env
	r.env = env
	defer func() { r.env = own }()
	return r.omoi(args...)
}
