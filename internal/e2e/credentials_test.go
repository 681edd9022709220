package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestEveryTaskWorksWithItsOwnersCredentials has two users ask for the same work, one of whom lacks what it needs.
func TestEveryTaskWorksWithItsOwnersCredentials(t *testing.T) {
	t.Parallel()
	const admin = "omoi_adminOfTheCredentials"
	keys := func(ids ...string) string {
		var all []string
		for _, id := range ids {
			all = append(all, id+":"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id, 16))))
		}
		return strings.Join(all, ",")
	}
	r := newRig(t, map[string]string{"OMOI_API_AUTH_DISABLED": "false", "OMOI_API_KEY": admin, "OMOI_CREDENTIAL_KEYS": keys("k1")}).up()
	repo := r.repo()
	alice, bob := r.user("alice"), r.user("bob")
	alice.set("openai", "openai-of-alice")

	mine, theirs := alice.asks(repo), bob.asks(repo)
	require.Equal(t, alice.sees("openai-of-alice"), outputOf(t, r.ends(mine.ID, task.StatusCompleted)))
	failed := r.ends(theirs.ID, task.StatusFailed)
	require.Equal(t, task.ClassCredentials, failed.FailureClass)
	require.Contains(t, text(failed.ErrorMessage), "Next: omoi credentials set openai")
	require.Len(t, failed.Attempts, 1, "it is not tried again")
	require.Zero(t, r.count(`SELECT count(*) FROM sandboxes WHERE task_id = '`+theirs.ID+`' AND made_at IS NOT NULL`), "nothing was made")
	shown := r.omoi("run", "--wait", "--repo", repo, "--execution-config", r.file("credentials.json", string(asking())), "say it")
	require.Equal(t, exit.NeedsYou, shown.code, shown.stderr)

	bob.set("openai", "openai-of-bob-0")
	r.retry(theirs.ID)
	require.Equal(t, bob.sees("openai-of-bob-0"), outputOf(t, r.ends(theirs.ID, task.StatusCompleted)))

	// other keys than those that it was encrypted with: whoever has them says so
	r.env["OMOI_CREDENTIAL_KEYS"] = keys("k2")
	r.restart()
	r.eventually("both say so", func() bool {
		return !slices.ContainsFunc([]string{"api", "worker"}, func(name string) bool {
			said, err := os.ReadFile(filepath.Join(r.dir, name+".log"))
			return err != nil || !strings.Contains(string(said), `msg="decrypt stored credentials failed"`)
		})
	})
	doctor := r.omoi("doctor")
	require.Contains(t, doctor.stdout, "2 of 2 cannot be read here: they are encrypted with the keys k1")

	// a new key, and the old one taken away: what was kept can be read all the same
	r.env["OMOI_CREDENTIAL_KEYS"] = keys("k2", "k1")
	r.restart()
	rotated := r.omoi("credentials", "rotate", "--json")
	require.Zero(t, rotated.code, rotated.stderr)
	var done credential.Rotation
	require.NoError(t, json.Unmarshal([]byte(rotated.stdout), &done))
	require.Equal(t, credential.Rotation{KeyID: "k2", Rotated: 2, MissingKeyIDs: []string{}}, done)
	r.env["OMOI_CREDENTIAL_KEYS"] = keys("k2")
	r.restart()
	require.Contains(t, r.omoi("doctor").stdout, "2 stored, all can be read; the key k2 encrypts")
	again := alice.asks(repo)
	require.Equal(t, alice.sees("openai-of-alice"), outputOf(t, r.ends(again.ID, task.StatusCompleted)))
	r.noLeaks()
}

// person is a user with a key of his own.
type person struct {
	rig *rig
	api *apiclient.Client
	id  string
}

func (r *rig) user(name string) person {
	r.t.Helper()
	made, err := r.api.CreateKey(context.Background(), apiclient.CreateAPIKeyRequest{Name: "of " + name, User: name})
	require.NoError(r.t, err)
	return person{rig: r, api: apiclient.New(r.env["OMOI_API_URL"], made.Secret), id: made.UserID}
}

func (p person) set(kind, secret string) {
	p.rig.t.Helper()
	_, err := p.api.SetCredential(context.Background(), kind, apiclient.SetCredentialRequest{Secret: secret})
	require.NoError(p.rig.t, err)
}

// asking is work that tells for whom it is done, and with which key, without telling the key.
func asking() json.RawMessage {
	return json.RawMessage(`{"credentials": ["openai"], "script": {"steps": [
		{"bash": {"command": "printf '%s %s' \"$USER_ID\" \"$(printf %s \"$OPENAI_API_KEY\" | sha256sum | cut -c 1-16)\""}},
		{"complete": {"output": "{{last_output}}", "success": true}}]}}`)
}

func (p person) asks(repo string) task.Task {
	p.rig.t.Helper()
	return p.works(repo, string(asking()))
}

func (p person) works(repo, config string) task.Task {
	p.rig.t.Helper()
	made, _, err := p.api.CreateTask(context.Background(), apiclient.CreateTaskRequest{
		Repo: repo, Description: "say for whom", Agent: task.AgentScripted, Provider: task.ProviderLocal, Execution: json.RawMessage(config),
	}, "")
	require.NoError(p.rig.t, err)
	require.Equal(p.rig.t, p.id, made.UserID)
	return made
}

// sees is what the work of a person tells.
func (p person) sees(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return p.id + " " + hex.EncodeToString(sum[:])[:16]
}

func outputOf(t *testing.T, made task.Task) string {
	t.Helper()
	var result struct {
		Output string `json:"output"`
	}
	require.NoError(t, json.Unmarshal(made.Result, &result), "%s", made.Result)
	return strings.TrimSpace(result.Output)
}

// restart begins API and worker again with what the rig's environment says now.
func (r *rig) restart() {
	r.t.Helper()
	r.stop("worker")
	r.stop("api")
	r.up()
}

// TestTwoUsersSideBySide has two users work at the same time in one project, from inside of their sandboxes: each is given
// his own name and all of his own credentials, and finds nothing of the other's where he may look.
func TestTwoUsersSideBySide(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_API_AUTH_DISABLED": "false", "OMOI_API_KEY": "omoi_adminOfTheNeighbours"}).up()
	repo, people := r.repo(), map[string]person{}
	for _, name := range []string{"alice", "bob"} {
		people[name] = r.user(name)
		for _, kind := range []string{"anthropic", "github", "openai"} {
			people[name].set(kind, strings.Join([]string{kind, "of", name}, "-"))
		}
	}
	const look = `printf '%s' "$USER_ID"; for v in "$ANTHROPIC_API_KEY" "$GITHUB_TOKEN" "$OPENAI_API_KEY"; do printf ' %s' "$(printf %s "$v" | rev)"; done; printf ' '; ` +
		`cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline "${WORKSPACE_PATH%/*}"/*/agent.json /tmp/* 2>/dev/null | tr '\0' '\n' | grep -o 'of-[a-z][a-z]*' | sort -u | rev | tr '\n' ' '`
	works := map[string]task.Task{}
	for name, p := range people {
		works[name] = p.works(repo, `{"credentials": ["anthropic", "github", "openai"], "script": {"steps": [`+waitsForMessage+`,
			{"bash": {"command": `+strconv.Quote(look)+`}}, {"complete": {"output": "{{last_output}}", "success": true}}]}}`)
	}
	for _, made := range works {
		r.waiting(made.ID)
	}
	for _, made := range works { // both are at work by now
		r.goOn(made.ID)
	}
	for name, p := range people {
		want := []string{p.id}
		for _, kind := range []string{"anthropic", "github", "openai"} {
			want = append(want, reversed(kind+"-of-"+name))
		}
		require.Equal(t, append(want, reversed("of-"+name)), strings.Fields(outputOf(t, r.ends(works[name].ID, task.StatusCompleted))), name)
	}
	r.noLeaks()
}

func reversed(text string) string {
	letters := []rune(text)
	slices.Reverse(letters)
	return string(letters)
}
