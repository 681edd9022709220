package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// counts is an agent that writes 1, 2 and 3 into a file, the next number when a file go1 or go2 appears, and then ends. An attempt
// that finds the file says what it holds.
const counts = `if [ -e n.txt ]; then echo "{\"omoi\":\"event\",\"event_type\":\"agent.message\",\"event_data\":{\"content\":\"found $(cat n.txt)\"}}"; git add -A; git commit -qm work; exit 0; fi
echo 1 > n.txt; until [ -e go1 ]; do sleep 0.1; done; echo 2 > n.txt; until [ -e go2 ]; do sleep 0.1; done; echo 3 > n.txt; until [ -e go3 ]; do sleep 0.1; done`

// counted waits until checkpoints with 1, 2 and 3 are stored, and returns the ID of the one with 1.
func (r *rig) counted(id string) string {
	r.t.Helper()
	const sealed = `SELECT count(*) FROM checkpoints WHERE task_id = $1 AND sealed_at IS NOT NULL AND bytes = 2 AND files = $2`
	for n := 1; n <= 3; n++ {
		r.eventually("a checkpoint holds the next number", func() bool { return r.count(sealed, id, n) > 0 })
		if n < 3 {
			r.moves(id, n)
		}
	}
	var one string
	require.NoError(r.t, r.pool.QueryRow(r.t.Context(), `SELECT attempt || '.' || number FROM checkpoints
		WHERE task_id = $1 AND bytes = 2 AND files = 1 AND sealed_at IS NOT NULL ORDER BY number LIMIT 1`, id).Scan(&one))
	return one
}

func (r *rig) moves(id string, n int) {
	r.t.Helper()
	done := r.omoi("sandbox", "exec", text(r.task(id).SandboxID), "--", "touch", "go"+string(rune('0'+n)))
	require.Zero(r.t, done.code, done.stderr)
}

// rewound expects that the newest attempt began with a checkpoint and found 1.
func (r *rig) rewound(id, checkpoint string, attempts int) {
	r.t.Helper()
	got := r.until(id, "ends again", func(t task.Task) bool { return t.AttemptCount == attempts && t.Status.Final() })
	require.Equal(r.t, task.StatusCompleted, got.Status, text(got.ErrorMessage))
	last := got.Attempts[attempts-1]
	require.Equal(r.t, []string{"rewound", checkpoint}, []string{last.Kind, last.RestoredFrom})
	require.Equal(r.t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.message'
		AND event_data ->> 'content' = 'found 1'`, last.SandboxID))
}

// TestRewind_NextAttemptHasTheChosenFiles rewinds a task while it runs, and one that is completed, to a checkpoint that is not the
// newest.
func TestRewind_NextAttemptHasTheChosenFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	made := r.submit(r.repo(), command(counts, `,"continuous":false`), asCommand)
	one := r.counted(made.ID)
	asked := r.omoi("rewind", made.ID, "--to", one)
	require.Zero(t, asked.code, asked.stderr)
	require.Contains(t, asked.stdout, "Checkpoint "+one+": event 1:")
	r.rewound(made.ID, one, 2)
	require.Equal(t, "replaced", r.task(made.ID).Attempts[0].Outcome)
	r.rewoundBehindTheBranch(made.ID, one)

	project, err := r.api.CreateProject(t.Context(), apiclient.CreateProjectRequest{Name: "without a repository"})
	require.NoError(t, err)
	made = r.submit("", command(counts, `,"continuous":false`), asCommand, func(in *apiclient.CreateTaskRequest) { in.ProjectID = project.ID })
	one = r.counted(made.ID)
	r.moves(made.ID, 3)
	r.ends(made.ID, task.StatusCompleted)
	asked = r.omoi("rewind", made.ID, "--to", one)
	require.Zero(t, asked.code, asked.stderr)
	r.rewound(made.ID, one, 2)
	r.noLeaks()
}

// rewoundBehindTheBranch rewinds a completed task twice: its published commits stay, and it continues on a new branch.
func (r *rig) rewoundBehindTheBranch(id, checkpoint string) {
	r.t.Helper()
	was := r.task(id)
	published := r.commitOf(was.Repo, *was.Branch)
	require.Equal(r.t, published, *was.Attempts[1].HeadCommit)
	for n := range 2 {
		asked := r.omoi("rewind", id, "--to", checkpoint)
		require.Zero(r.t, asked.code, asked.stderr)
		r.rewound(id, checkpoint, 3+n)
	}
	got := r.task(id)
	require.Equal(r.t, []string{*was.Branch, *was.Branch + "-2"}, got.Earlier)
	require.Equal(r.t, *was.Branch+"-3", *got.Branch)
	require.Equal(r.t, *was.Base, *got.Base)
	require.NotEqual(r.t, *was.PullURL, *got.PullURL, "another branch, another pull request")
	require.Equal(r.t, published, r.commitOf(was.Repo, *was.Branch), "what is published stays")
	for _, branch := range []string{got.Earlier[1], *got.Branch} {
		require.Equal(r.t, "1\n", r.git("-C", was.Repo, "show", branch+":n.txt"))
		require.Equal(r.t, "1\n", r.git("-C", was.Repo, "rev-list", "--count", *was.Base+".."+branch), "of the rewound attempt alone")
	}
	require.Contains(r.t, r.omoi("show", id).stdout, "Earlier       "+*was.Branch+", ")
	diff := r.omoi("diff", id)
	require.Zero(r.t, diff.code, diff.stderr)
	require.Contains(r.t, diff.stdout, "+1\n")
}

func (r *rig) commitOf(repo, branch string) string {
	r.t.Helper()
	return strings.TrimSpace(r.git("-C", repo, "rev-parse", "refs/heads/"+branch))
}
