package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// TestAgentID_NamesItsSandbox sends messages to agents, and moves capacity from one, by the ID that the agent reported.
func TestAgentID_NamesItsSandbox(t *testing.T) {
	t.Parallel()
	w := closed(t)
	admin, stranger := w.key(w.org, "admin"), w.foreigner()
	made := func() client.Task {
		return ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, admin), http.StatusCreated)
	}
	from, to := made(), made()
	writer, peer := w.begin(from), w.begin(to)
	w.exec(`UPDATE tasks SET assigned_agent_id = 'agent-7' WHERE id = $1`, to.ID)
	w.exec(`UPDATE projects SET agents_may_message = true`)

	hello := client.CreateMessageRequest{Content: "hello"}
	said := ok[client.QueuedMessage](w.call(http.MethodPost, wire+"agent-7/messages", hello, authorization, admin),
		http.StatusOK)
	require.Equal(t, peer, said.SandboxID)
	for _, id := range []string{"agent-7", peer} {
		w.call(http.MethodPost, wire+id+"/messages", hello, authorization, stranger).refused(http.StatusNotFound, "")
	}
	w.call(http.MethodPost, wire+"agent-8/messages", hello, authorization, admin).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, wire+peer+"/messages", hello).refused(http.StatusUnauthorized, "")

	said = ok[client.QueuedMessage](w.call(http.MethodPost, wire+writer+"/outbox", client.CreateAgentMessageRequest{To: "agent-7", Content: "x"},
		authorization, "Bearer "+w.ring.Mint(writer)), http.StatusOK)
	require.Equal(t, peer, said.SandboxID)

	other := ok[client.Project](w.call(http.MethodPost, "/api/v1/projects", client.CreateProjectRequest{Name: "other"},
		authorization, admin), http.StatusCreated)
	ok[client.GuardianAction](w.call(http.MethodPost, guardianRoutes+"/intervention/reallocate",
		`{"from_agent_id": "agent-7", "to_agent_id": "`+other.ID+`", "reason": "r", "capacity": 1}`, authorization, admin), http.StatusOK)
	w.call(http.MethodPost, guardianRoutes+"/intervention/reallocate",
		`{"from_agent_id": "agent-8", "to_agent_id": "`+other.ID+`", "reason": "r", "capacity": 1}`, authorization, admin).refused(http.StatusNotFound, "")
}

// TestAgentID_ReachesItsSandboxOnAnOpenServer creates no unmanaged sandbox for the ID of an agent.
func TestAgentID_ReachesItsSandboxOnAnOpenServer(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	w.exec(`UPDATE tasks SET assigned_agent_id = 'agent-7' WHERE id = $1`, made.ID)
	w.say("agent-7", "hello")
	require.Len(t, w.take(box, ""), 1)
	w.say("agent-8", "hello")
	require.Len(t, w.take("agent-8", ""), 1, "an unknown ID names an unmanaged sandbox")
}

// TestAgentID_SharedByTwoIsRejected expects an error for an agent ID of two sandboxes; a sandbox ID still names one sandbox.
func TestAgentID_SharedByTwoIsRejected(t *testing.T) {
	t.Parallel()
	w := open(t)
	boxes := []string{w.begin(w.task(newTask())), w.begin(w.task(newTask()))}
	w.exec(`UPDATE tasks SET assigned_agent_id = 'agent-7'`)
	w.call(http.MethodPost, wire+"agent-7/messages", client.CreateMessageRequest{Content: "hello"}).refused(http.StatusConflict, "")
	w.exec(`UPDATE tasks SET assigned_agent_id = 'agent-' || $1::text`, boxes[0])
	w.say("agent-"+boxes[0], "hello")
	require.Len(t, w.take(boxes[0], ""), 1)
}
