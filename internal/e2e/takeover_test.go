package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// asksModel is an agent that asks its model once and reports a rate limit. The limit resets in weeks.
const asksModel = `code=$(curl -sS -o /dev/null -w '%%{http_code}' -H "Authorization: Bearer $OPENAI_API_KEY" "$OPENAI_BASE_URL/v1/chat/completions" -d '{"model":"m","tools":[{"type":"function","function":{"name":"bash"}}],"messages":[{"role":"user","content":"Multiply."}]}')
if [ "$code" = 429 ]; then printf '%%s\n' '%s'; else echo "the model answered $code"; fi`

// TestAnotherCredentialTakesOver has a model that answers 429 to the first of two keys, and works with the second.
func TestAnotherCredentialTakesOver(t *testing.T) {
	t.Parallel()
	const first, second = "first-key-of-alice", "second-key-of-alice"
	with := func(key string) func(modeltest.Request) error {
		return func(r modeltest.Request) error {
			if got := r.Header.Get("Authorization"); got != "Bearer "+key {
				return fmt.Errorf("the request came with %q, not with %q", got, key)
			}
			return nil
		}
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	m := modeltest.New(t,
		modeltest.Turn{Status: http.StatusTooManyRequests, Expect: with(first)},
		modeltest.Turn{Text: "42", Expect: with(second), Begun: asked, Hold: answer},
		modeltest.Turn{Text: "42", Expect: with(second)},
	)
	r := newRig(t, map[string]string{"OMOI_API_AUTH_DISABLED": "false", "OMOI_API_KEY": "omoi_adminOfTheCredentials"}).up()
	alice := r.user("alice")
	for number, secret := range []string{first, second} {
		stored, err := alice.api.SetCredential(context.Background(), "openai", apiclient.SetCredentialRequest{Secret: secret, BaseURL: m.URL, Number: number + 1})
		require.NoError(t, err)
		require.Equal(t, number+1, stored.Number)
	}
	config := command(fmt.Sprintf(asksModel, refused(time.Now().Add(20*24*time.Hour))), `,"continuous":false,"credentials":["openai"]`)
	asks := func() task.Task {
		made, _, err := alice.api.CreateTask(context.Background(), apiclient.CreateTaskRequest{
			Repo: r.repo(), Description: "ask the model", Agent: task.AgentCommand, Provider: task.ProviderLocal, Mode: task.ModeExploration, Execution: config,
		}, "")
		require.NoError(t, err)
		return made
	}
	made := asks()
	select {
	case <-asked:
	case <-time.After(patience):
		require.Fail(t, "the second key is not used")
	}
	r.eventually("the task says which credential it uses", func() bool {
		return strings.Contains(r.omoi("why", made.ID).stdout, "with openai credential 2 of the user, since credential 1 was rate limited until ")
	})
	close(answer)
	done := r.ends(made.ID, task.StatusCompleted)
	require.Zero(t, done.Retries, "a limit is not a failure")
	require.Len(t, done.Attempts, 2)
	require.Nil(t, done.Attempts[0].Takeover)
	require.Equal(t, 2, done.Attempts[1].Takeover.Number)

	listed, err := alice.api.Credentials(context.Background())
	require.NoError(t, err)
	require.Len(t, listed, 2)
	require.NotNil(t, listed[0].ResetsAt, "the first one is in cooldown")
	require.Nil(t, listed[1].ResetsAt)

	next := r.ends(asks().ID, task.StatusCompleted)
	require.Len(t, next.Attempts, 1, "a new task begins with the second")
	require.Equal(t, 2, next.Attempts[0].Takeover.Number)

	logs := r.omoi("logs", made.ID).stdout
	require.Contains(t, logs, "openai credential 2 of the user")
	for _, secret := range []string{first, second} {
		for _, args := range [][]string{{"logs", made.ID}, {"show", made.ID}, {"why", made.ID}, {"show", made.ID, "--json"}} {
			require.NotContains(t, r.omoi(args...).stdout, secret)
		}
	}
	require.Contains(t, r.omoi("show", made.ID).stdout, " with openai 2)")
	r.noLeaks()
}
