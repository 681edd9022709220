package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// Credentials of the rigs that ask for keys.
const (
	keyOfRig   = "a-key-of-the-tests-0123456789"
	unknownID  = "01931f6e-7c2a-7abc-8def-0123456789ab"
	unknownBox = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// tokenKey signs the sandbox tokens of rigs that ask for keys.
func tokenKey() token.Key {
	return token.Key{ID: "tests", Secret: []byte("0123456789abcdef0123456789abcdef")}
}

// keyedRig is an installation that asks for keys, with one API and no worker.
func keyedRig(t *testing.T) *rig {
	t.Helper()
	return newRig(t, map[string]string{
		"OMOI_API_AUTH_DISABLED": "false", "OMOI_API_KEY": keyOfRig,
		"OMOI_TOKEN_KEY": "tests.MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
	})
}

// ask is one request as nobody's client would make it.
type ask struct {
	method, path, key, body string
	header                  map[string]string
}

func (r *rig) ask(a ask) (int, apiclient.Problem) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), a.method, r.env["OMOI_API_URL"]+a.path, strings.NewReader(a.body))
	require.NoError(r.t, err)
	req.Header.Set("Content-Type", "application/json")
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	var p apiclient.Problem
	if res.StatusCode >= http.StatusBadRequest {
		require.Equal(r.t, "application/problem+json", res.Header.Get("Content-Type"), "%s", raw)
		require.NoError(r.t, json.Unmarshal(raw, &p), "%s", raw)
	}
	return res.StatusCode, p
}

// command reads the receipt of a command.
func (r *rig) command(id string) (c apiclient.Command) {
	r.t.Helper()
	res, err := http.Get(r.env["OMOI_API_URL"] + "/api/v1/commands/" + id)
	require.NoError(r.t, err)
	defer res.Body.Close()
	require.Equal(r.t, http.StatusOK, res.StatusCode)
	require.NoError(r.t, json.NewDecoder(res.Body).Decode(&c))
	return c
}

// rows counts what a request could leave behind, table by table.
func (r *rig) rows() map[string]int {
	r.t.Helper()
	found := map[string]int{}
	for _, table := range []string{
		"api_keys", "projects", "tickets", "tasks", "task_dependencies", "idempotency_keys", "slots", "commands", "task_outbox",
		"sandboxes", "attempts", "event_spools", "sandbox_events", "messages", "transcripts", "stored_texts",
	} {
		found[table] = r.count("SELECT count(*) FROM " + table)
	}
	return found
}

// newTask is the body of a good task with one thing changed.
func newTask(repo, field string, value any) string {
	body := map[string]any{
		"repo": repo, "description": "a task of the tests", "agent": task.AgentScripted, "sandbox": task.ProviderLocal,
		"execution_config": script(stepComplete),
	}
	if field != "" {
		body[field] = value
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// badRepos are places that no task can work in.
type badRepos struct{ file, folder, empty string }

func (r *rig) badRepos() badRepos {
	r.t.Helper()
	dir, err := os.MkdirTemp(r.dir, "bad-")
	require.NoError(r.t, err)
	bad := badRepos{file: filepath.Join(dir, "file"), folder: filepath.Join(dir, "folder"), empty: filepath.Join(dir, "empty.git")}
	require.NoError(r.t, os.WriteFile(bad.file, []byte("no repository"), 0o600))
	require.NoError(r.t, os.Mkdir(bad.folder, 0o755))
	require.Zero(r.t, r.run("git", "init", "-q", "--bare", bad.empty).code)
	return bad
}

// TestBadTasksAreRefused sends tasks that cannot be: each gets a 4xx that names what is
// wrong, and nothing is stored.
func TestBadTasksAreRefused(t *testing.T) { //nolint:tparallel // the rows are counted behind all of its cases
	t.Parallel()
	r := keyedRig(t)
	r.startAPI()
	repo, bad := r.repo(), r.badRepos()
	before := r.rows()
	for name, c := range map[string]struct { //nolint:paralleltest // as above
		body   string
		status int
		says   string
	}{
		"empty text":             {newTask(repo, "description", ""), 422, "Missing title and description"},
		"blank text":             {newTask(repo, "description", " \n\t"), 422, "Missing title and description"},
		"long text":              {newTask(repo, "description", strings.Repeat("x", 64<<10+1)), 422, "at most 65536"},
		"text of 1 MiB":          {newTask(repo, "description", strings.Repeat("x", 1<<20)), 413, "too long"},
		"long title":             {newTask(repo, "title", strings.Repeat("ü", 501)), 422, "at most 500"},
		"title of two lines":     {newTask(repo, "title", "one\ntwo"), 422, "U+000A"},
		"title with an escape":   {newTask(repo, "title", "\x1b[2Jgone"), 422, "U+001B"},
		"title with a NUL":       {newTask(repo, "title", "a\x00b"), 422, "U+0000"},
		"title that turns round": {newTask(repo, "title", "safe \u202etxt.exe"), 422, "U+202E"},
		"text with a NUL":        {newTask(repo, "description", "a\x00b"), 422, "U+0000"},
		"no repository there":    {newTask("/nowhere/at/all", "", nil), 422, "repo"},
		"a file":                 {newTask(bad.file, "", nil), 422, "repo"},
		"a folder without git":   {newTask(bad.folder, "", nil), 422, "repo"},
		"an empty repository":    {newTask(bad.empty, "", nil), 422, "commit"},
		"a relative path":        {newTask("./here", "", nil), 422, "repo"},
		"nobody's repository":    {newTask("someone/something", "", nil), 422, "repo"},
		"too many retries":       {newTask(repo, "max_retries", 11), 422, "max_retries"},
		"fewer than no retries":  {newTask(repo, "max_retries", -1), 422, "max_retries"},
		"retries in words":       {newTask(repo, "max_retries", "three"), 422, "max_retries"},
		"a negative budget":      {newTask(repo, "budget", map[string]any{"usd": -1}), 422, "budget"},
		"an unknown agent":       {newTask(repo, "agent", "hal"), 422, "agent"},
		"an unknown sandbox":     {newTask(repo, "sandbox", "moon"), 422, "sandbox"},
		"an unknown priority":    {newTask(repo, "priority", "NOW"), 422, "priority"},
		"no script":              {newTask(repo, "execution_config", map[string]any{}), 422, "script"},
		"an empty script":        {newTask(repo, "execution_config", script()), 422, "script"},
		"a config with a NUL":    {newTask(repo, "execution_config", map[string]any{"note": "a\x00b", "script": map[string]any{"steps": []any{map[string]any{"say": "x"}}}}), 422, "U+0000"},
		"a config that is none":  {newTask(repo, "execution_config", "fast"), 422, "execution_config"},
		"an unknown field":       {newTask(repo, "colour", "red"), 422, "colour"},
		"an unknown dependency":  {newTask(repo, "dependencies", map[string]any{"depends_on": []string{unknownID}}), 422, unknownID},
		"a dependency of no id":  {newTask(repo, "dependencies", map[string]any{"depends_on": []string{"that one"}}), 422, "that one"},
		"two places":             {newTask(repo, "project_id", unknownID), 422, "only one"},
		"an unknown project":     {newTask("", "project_id", unknownID), 422, unknownID},
		"an unknown ticket":      {newTask("", "ticket_id", unknownID), 422, unknownID},
		"no place":               {newTask("", "", nil), 422, "repo"},
		"half of a document":     {`{"repo": "` + repo, 400, "JSON"},
		"no document":            {``, 400, "body"},
		"a list":                 {`[]`, 422, "body"},
		"not JSON":               {`title=x`, 400, "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			status, p := r.ask(ask{method: http.MethodPost, path: "/api/v1/tasks", key: keyOfRig, body: c.body})
			require.Equal(t, c.status, status, p.Detail)
			require.Contains(t, p.Detail+" "+locations(p), c.says)
			require.NotEmpty(t, p.Code)
		})
	}
	status, p := r.ask(ask{
		method: http.MethodPost, path: "/api/v1/tasks", key: keyOfRig, body: newTask(repo, "", nil),
		header: map[string]string{"Idempotency-Key": strings.Repeat("k", 300)},
	})
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, p.Detail, "Idempotency-Key")
	require.Equal(t, before, r.rows(), "something is half made")
}

func locations(p apiclient.Problem) string {
	var all []string
	for _, e := range p.Errors {
		all = append(all, e.Location)
	}
	return strings.Join(all, " ")
}

// TestBadAsksAreRefused asks for things that are not there, in ways that cannot be, and as
// somebody who may not.
func TestBadAsksAreRefused(t *testing.T) { //nolint:tparallel // the rows are counted behind all of its cases
	t.Parallel()
	r := keyedRig(t)
	r.startAPI()
	r.startWorker()
	made := r.submit(r.repo(), script(stepWrite, stepHang))
	box := text(r.running(made.ID).SandboxID)
	_, _, err := r.api.Cancel(context.Background(), made.ID, "seen")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
	r.stop("worker")

	ring, err := token.NewRing(tokenKey(), nil)
	require.NoError(t, err)
	own, other := ring.Mint(box), ring.Mint(unknownBox)
	forged := own[:len(own)-4] + "AAAA"
	sandbox, unknown := "/api/v1/sandboxes/"+box, "/api/v1/sandboxes/"+unknownBox
	event := `{"event_type":"agent.thinking","event_data":{}}`
	before := r.rows()
	for name, c := range map[string]struct { //nolint:paralleltest // as above
		ask
		status int
	}{
		"no key":                     {ask{method: "GET", path: "/api/v1/tasks"}, 401},
		"a wrong key":                {ask{method: "GET", path: "/api/v1/tasks", key: "omoi_garbage"}, 401},
		"no key to make a task":      {ask{method: "POST", path: "/api/v1/tasks", body: newTask("/r", "", nil)}, 401},
		"a sandbox makes a task":     {ask{method: "POST", path: "/api/v1/tasks", key: own, body: newTask("/r", "", nil)}, 403},
		"a sandbox makes a key":      {ask{method: "POST", path: "/api/v1/auth/api-keys", key: own, body: `{"name":"k"}`}, 403},
		"no token":                   {ask{method: "POST", path: sandbox + "/events", body: event}, 401},
		"garbage like a token":       {ask{method: "POST", path: sandbox + "/events", key: "v1.garbage", body: event}, 401},
		"a token of an unknown key":  {ask{method: "POST", path: sandbox + "/events", key: "v1.other." + forged, body: event}, 401},
		"a forged token":             {ask{method: "POST", path: sandbox + "/events", key: forged, body: event}, 403},
		"another sandbox's token":    {ask{method: "POST", path: sandbox + "/events", key: other, body: event}, 403},
		"its own, elsewhere":         {ask{method: "GET", path: unknown + "/messages", key: own}, 403},
		"a batch with a gap":         {ask{method: "POST", path: sandbox + "/events/batch", key: own, body: `{"spool_id":"s","first":7,"events":[` + event + `]}`}, 409},
		"a batch that is no list":    {ask{method: "POST", path: sandbox + "/events/batch", key: own, body: `{"spool_id":"s","first":1,"events":"many"}`}, 422},
		"half an event":              {ask{method: "POST", path: sandbox + "/events", key: own, body: `{"event_type":`}, 422},
		"an event without type":      {ask{method: "POST", path: sandbox + "/events", key: own, body: `{"event_data":{}}`}, 422},
		"an unknown sandbox":         {ask{method: "GET", path: unknown, key: keyOfRig}, 404},
		"an event for no sandbox":    {ask{method: "POST", path: unknown + "/events", key: keyOfRig, body: event}, 404},
		"an unknown task":            {ask{method: "GET", path: "/api/v1/tasks/" + unknownID, key: keyOfRig}, 404},
		"a task that is no id":       {ask{method: "GET", path: "/api/v1/tasks/..%2fetc", key: keyOfRig}, 404},
		"cancel of an unknown task":  {ask{method: "POST", path: "/api/v1/tasks/" + unknownID + "/cancel", key: keyOfRig, body: `{}`}, 404},
		"retry of an unknown task":   {ask{method: "POST", path: "/api/v1/tasks/" + unknownID + "/retry", key: keyOfRig, body: `{}`}, 404},
		"an unknown command":         {ask{method: "GET", path: "/api/v1/commands/" + unknownID, key: keyOfRig}, 404},
		"events of an unknown task":  {ask{method: "GET", path: "/api/v1/tasks/" + unknownID + "/events", key: keyOfRig}, 404},
		"the diff of an unknown one": {ask{method: "GET", path: "/api/v1/tasks/" + unknownID + "/diff", key: keyOfRig}, 404},
		"cancel twice":               {ask{method: "POST", path: "/api/v1/tasks/" + made.ID + "/cancel", key: keyOfRig, body: `{}`}, 409},
		"cancel with more to say":    {ask{method: "POST", path: "/api/v1/tasks/" + made.ID + "/cancel", key: keyOfRig, body: `{"colour":"red"}`}, 422},
		"a page of nothing":          {ask{method: "GET", path: "/api/v1/tasks?limit=0", key: keyOfRig}, 422},
		"a page of all":              {ask{method: "GET", path: "/api/v1/tasks?limit=100000", key: keyOfRig}, 422},
		"a cursor of nowhere":        {ask{method: "GET", path: "/api/v1/tasks?cursor=nowhere", key: keyOfRig}, 422},
		"an unknown status":          {ask{method: "GET", path: "/api/v1/tasks?status=fine", key: keyOfRig}, 422},
		"an event cursor of nowhere": {ask{method: "GET", path: "/api/v1/tasks/" + made.ID + "/events?after=x", key: keyOfRig}, 422},
		"a wait for ever":            {ask{method: "GET", path: "/api/v1/tasks/" + made.ID + "/events?wait=forever", key: keyOfRig}, 422},
		"a route of nowhere":         {ask{method: "GET", path: "/api/v1/nowhere", key: keyOfRig}, 404},
		"a method of nowhere":        {ask{method: "DELETE", path: "/api/v1/tasks", key: keyOfRig}, 405},
	} {
		t.Run(name, func(t *testing.T) {
			status, p := r.ask(c.ask)
			require.Equal(t, c.status, status, p.Detail)
			require.NotEmpty(t, p.Detail)
			require.NotContains(t, p.Detail, "SQL")
		})
	}
	require.Equal(t, before, r.rows(), "something is half made")
}

// TestBadCommandLines holds the command line to its exit codes, each with a next step or
// the name of what is wrong, and to making nothing.
func TestBadCommandLines(t *testing.T) { //nolint:tparallel // the rows are counted behind all of its cases
	t.Parallel()
	r := keyedRig(t)
	r.startAPI()
	repo, bad := r.repo(), r.badRepos()
	good := r.file("script.json", `{"steps":[`+stepComplete+`]}`)
	scripted := func(args ...string) []string {
		return append([]string{"run", "--agent", "scripted", "--script", good}, args...)
	}
	before := r.rows()
	for name, c := range map[string]struct { //nolint:paralleltest // as above
		args []string
		code int
		says string
	}{
		"no text":               {scripted("--repo", repo), 2, "Missing task text"},
		"an empty text":         {scripted("", "--repo", repo), 2, "empty"},
		"a text of 1 MiB":       {scripted("--file", r.file("big", strings.Repeat("x", 1<<20)), "--repo", repo), 2, "too long"},
		"a long text":           {scripted("--file", r.file("long", strings.Repeat("x", 65<<10)), "--repo", repo), 2, "at most 65536"},
		"no repository there":   {scripted("x", "--repo", "/nowhere/at/all"), 2, "/nowhere/at/all"},
		"a file":                {scripted("x", "--repo", bad.file), 2, bad.file},
		"a folder without git":  {scripted("x", "--repo", bad.folder), 2, "git"},
		"an empty repository":   {scripted("x", "--repo", bad.empty), 2, "commit"},
		"nobody's repository":   {scripted("x", "--repo", "someone/something"), 2, "someone/something"},
		"no repository around":  {scripted("x"), 2, "--repo"},
		"too many retries":      {scripted("x", "--repo", repo, "--max-retries", "11"), 2, "--max-retries: give at most 10"},
		"an unknown agent":      {[]string{"run", "x", "--repo", repo, "--agent", "hal"}, 2, "hal"},
		"an unknown sandbox":    {scripted("x", "--repo", repo, "--sandbox", "moon"), 2, "moon"},
		"a title of two lines":  {scripted("x", "--repo", repo, "--title", "one\ntwo"), 2, "U+000A"},
		"a script that is none": {[]string{"run", "x", "--repo", repo, "--script", r.file("bad.json", "{")}, 2, "bad.json"},
		"an unknown task":       {[]string{"show", unknownID}, 1, unknownID},
		"an unknown beginning":  {[]string{"show", "0193aaaa"}, 1, "omoi ps"},
		"a task that is no id":  {[]string{"show", "my-task"}, 1, "omoi ps"},
		"too short an id":       {[]string{"cancel", "019"}, 2, "4 or more"},
		"no task yet":           {[]string{"show", "-"}, 1, "omoi run"},
		"an unknown command":    {[]string{"rum"}, 2, "did you mean run?"},
		"a wrong setting":       {[]string{"ps", "--set", "sandbox.cpu=99"}, 2, "sandbox.cpu"},
		"nobody there":          {[]string{"ps", "--api-url", "http://127.0.0.1:1"}, 3, "omoi dev"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.omoi(c.args...)
			require.Equal(t, c.code, got.code, got.stderr)
			require.Contains(t, got.stderr, c.says)
			require.Empty(t, got.stdout)
		})
	}
	r.env["OMOI_API_KEY"] = "omoi_a-wrong-key-0123456789"
	got := r.omoi("ps")
	require.Equal(t, 4, got.code, got.stderr)
	require.Contains(t, got.stderr, "OMOI_API_KEY")
	require.Equal(t, before, r.rows(), "something is half made")
}

// file writes a file of this rig.
func (r *rig) file(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	require.NoError(r.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// TestTitlesOfAllScripts runs a task whose title has emoji, right-to-left text and
// combining marks to its end: branch, summary and pull request carry it.
func TestTitlesOfAllScripts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	for _, title := range []string{"Füge 🎉 und שלום עולם hinzu", "🎉🎉🎉", "مرحبا", "../../etc/passwd ~^:?*[\\ @{ .lock", "-rf"} {
		made := r.submit(repo, script(stepWrite, `{"commit":"`+"\\ud83c\\udf89"+` say hello"}`, stepComplete),
			func(in *apiclient.CreateTaskRequest) { in.Title = title })
		got := r.ends(made.ID, task.StatusCompleted)
		require.Equal(t, title, got.Title)
		branch := text(got.Branch)
		require.Zero(t, r.run("git", "check-ref-format", "--branch", branch).code, branch)
		require.Equal(t, "hello\n", r.run("git", "-C", repo, "show", branch+":hello.txt").stdout)
		shown := r.omoi("show", got.ID, "--json")
		require.Zero(t, shown.code, shown.stderr)
		require.Contains(t, unescape(t, shown.stdout)["title"], title)
		pulls, err := filepath.Glob(filepath.Join(repo, "omoi", "pulls", "*.json"))
		require.NoError(t, err)
		require.True(t, anyHolds(t, pulls, title), "no pull request is called %s", title)
	}
	r.noLeaks()
}

func unescape(t *testing.T, raw string) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(raw), &out))
	return out
}

// anyHolds tells whether one of the JSON files has a title that holds text.
func anyHolds(t *testing.T, files []string, text string) bool {
	t.Helper()
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var pull struct {
			Title string `json:"title"`
		}
		require.NoError(t, json.NewDecoder(bytes.NewReader(raw)).Decode(&pull))
		if strings.Contains(pull.Title, text) {
			return true
		}
	}
	return false
}
