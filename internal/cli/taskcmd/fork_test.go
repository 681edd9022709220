package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func (f *fakeAPI) fork(w http.ResponseWriter, r *http.Request) {
	var in client.ForkRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.locked(func() {
		f.asked = append(f.asked, strings.Join([]string{in.Checkpoint, in.Agent, in.Model, in.Text, r.Header.Get("Idempotency-Key")}, "|"))
	})
	answer(w, http.StatusCreated, aTask(idB, task.StatusPending))
}

func TestFork_OfAChosenCheckpoint(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	f.checkpointed()
	got := f.omoi("fork", "-", "--at", "2:30", "--agent", "claude", "--model", "small", "--text", "Use Redis.", "--idempotency-key", "k")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []string{"2.2|claude|small|Use Redis.|k"}, f.asked)
	require.Contains(t, got.out, "Checkpoint 2.2: event 2:30, 5m")
	require.Contains(t, got.out, "Next: omoi logs -f ")
	f.asked = nil
	require.Zero(t, f.omoi("fork", "-", "--at", "1").code)
	require.Regexp(t, `^1\.9\|\|\|\|[0-9a-f-]{36}$`, f.asked[0])
	got = f.omoi("fork", "-", "--at", "9.9")
	require.Contains(t, got.err, "None of the 5 checkpoints of task 456789ab matches --at 9.9")
	got = f.omoi("fork", "-", "--at", "yesterday")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, `Invalid --at "yesterday"`)
	require.Equal(t, 2, f.omoi("fork", "-").code)
}

func TestShow_NamesTheOriginOfAFork(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	fork := aTask(idA, task.StatusRunning)
	fork.ForkedFrom = &task.ForkedFrom{TaskKey: "APP-12", Checkpoint: "2.14"}
	fork.Earlier = []string{"feature/x"}
	fork.Continues, fork.ContinuedBy = "APP-7", "APP-9"
	f.tasks = []client.Task{fork}
	out := f.omoi("show", "-").out
	require.Contains(t, out, "Forked from   APP-12, checkpoint 2.14\n")
	require.Contains(t, out, "Earlier       feature/x\n")
	require.Contains(t, out, "Continues     APP-7\n")
	require.Contains(t, out, "Continued by  APP-9\n")
}
