package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

func TestContract_IsReadAndReplaced(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Contract = "allowed_paths: [src]\n"
	made := w.task(in)
	path := "/api/v1/tasks/" + made.Key + "/contract"
	got := ok[client.TaskContract](w.call(http.MethodGet, path, nil), http.StatusOK)
	require.Equal(t, []string{"src"}, got.Accepted.AllowedPaths)
	require.Equal(t, []string{taskcontract.ByUser}, authors(got))

	got = ok[client.TaskContract](w.call(http.MethodPut, path, client.SetContractRequest{Contract: "tests_may_change: false\n"}), http.StatusOK)
	require.Equal(t, taskcontract.Contract{TestsMayChange: new(false)}, got.Accepted)
	require.Equal(t, "tests_may_change: false\n", got.Text)
	require.Equal(t, []string{taskcontract.ByUser, taskcontract.ByUser}, authors(got))
	require.Equal(t, 2, got.Versions[0].Number)

	for text, line := range map[string]string{"allowed_paths:\n- a\npaths: b": "line 3", "change_wanted: perhaps": "line 1"} {
		said := w.call(http.MethodPut, path, client.SetContractRequest{Contract: text}).refused(http.StatusUnprocessableEntity, "body.contract")
		require.Contains(t, said.Detail+said.Errors[0].Message, line)
		in.Contract = text
		w.call(http.MethodPost, "/api/v1/tasks", in).refused(http.StatusUnprocessableEntity, "body.contract")
	}
	w.call(http.MethodPatch, "/api/v1/tasks/"+made.ID, `{"contract":"a"}`).refused(http.StatusConflict, "body.contract")
	w.call(http.MethodGet, "/api/v1/tasks/"+task.NewID()+"/contract", nil).refused(http.StatusNotFound, "")

	w.end(made, task.StatusCompleted)
	w.call(http.MethodPut, path, client.SetContractRequest{}).refused(http.StatusConflict, "")
}

func authors(c client.TaskContract) (list []string) {
	for _, v := range c.Versions {
		list = append(list, v.Author)
	}
	return list
}

// A proposal binds nobody until a user accepts it, or the project accepts all.
func TestContract_ProposalIsAccepted(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Execution = []byte(`{"allowed_paths":["src"]}`)
	made := w.task(in)
	path := "/api/v1/tasks/" + made.ID + "/contract"
	proposed := taskcontract.Contract{AllowedPaths: []string{"cmd"}, TestsMayChange: new(false)}
	require.NoError(t, w.store.ProposeContract(t.Context(), made.ID, "judge-1", proposed))
	require.NoError(t, w.store.ProposeContract(t.Context(), made.ID, "judge-2", taskcontract.Contract{}), "a task gets one proposal")

	got := ok[client.TaskContract](w.call(http.MethodGet, path, nil), http.StatusOK)
	require.Equal(t, taskcontract.InForce{
		Accepted: taskcontract.Contract{AllowedPaths: []string{"src"}}, Proposed: taskcontract.Contract{TestsMayChange: new(false)},
	}, got.InForce)
	require.Equal(t, []string{taskcontract.ByModel}, authors(got))
	require.False(t, got.Versions[0].Accepted)
	work, err := w.store.Work(t.Context(), made.ID)
	require.NoError(t, err)
	require.Contains(t, work.Contract, "no user has accepted it yet. Follow it unless the task says otherwise:\n- Do not change tests.")

	got = ok[client.TaskContract](w.call(http.MethodPut, path, client.SetContractRequest{Contract: got.Text}), http.StatusOK)
	require.Equal(t, taskcontract.InForce{Accepted: taskcontract.Contract{AllowedPaths: []string{"src"}, TestsMayChange: new(false)}}, got.InForce)

	w.exec(`UPDATE projects SET settings = '{"accept_contracts": true, "forbidden_paths": ["go.mod"]}' WHERE id = $1`, made.ProjectID)
	other := w.task(newTask())
	require.NoError(t, w.store.ProposeContract(t.Context(), other.ID, "judge-1", proposed))
	got = ok[client.TaskContract](w.call(http.MethodGet, "/api/v1/tasks/"+other.ID+"/contract", nil), http.StatusOK)
	require.Equal(t, []string{"cmd"}, got.Accepted.AllowedPaths)
	require.Equal(t, []string{"go.mod"}, got.Accepted.ForbiddenPaths, "the project adds to it")
	require.Zero(t, got.Proposed)
}

// Two writers who read the same version do not overwrite each other.
func TestContract_SecondWriterIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := "/api/v1/tasks/" + w.task(newTask()).ID + "/contract"
	none, first := 0, 1
	ok[client.TaskContract](w.call(http.MethodPut, path, client.SetContractRequest{Contract: "allowed_paths: [a]", Version: &none}), http.StatusOK)
	w.call(http.MethodPut, path, client.SetContractRequest{Contract: "allowed_paths: [b]", Version: &none}).refused(http.StatusConflict, "")
	ok[client.TaskContract](w.call(http.MethodPut, path, client.SetContractRequest{Contract: "allowed_paths: [c]", Version: &first}), http.StatusOK)
	w.call(http.MethodPut, path, client.SetContractRequest{Contract: "allowed_paths: [d]", Version: &first}).refused(http.StatusConflict, "")
	got := ok[client.TaskContract](w.call(http.MethodPut, path, client.SetContractRequest{Contract: "allowed_paths: [e]"}), http.StatusOK)
	require.Equal(t, []string{"e"}, got.Accepted.AllowedPaths)
	require.Len(t, got.Versions, 3)
}

// The accepted test command of a contract is that of the task.
func TestContract_TestCommandIsRun(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Execution, in.Contract = []byte(`{"test_command":"make old"}`), "test_command: make test"
	work, err := w.store.Work(t.Context(), w.task(in).ID)
	require.NoError(t, err)
	require.Equal(t, "make test", work.Execution.TestCommand)
}
