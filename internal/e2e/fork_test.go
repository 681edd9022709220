package e2e_test

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// digest is a shell function that prints a digest of paths, executable bits, link targets and bytes of the files below a folder.
const digest = `digest() { find . -name .git -prune -o \( -type f -o -type l \) -print | LC_ALL=C sort | while IFS= read -r f; do
if [ -L "$f" ]; then echo "$f -> $(readlink "$f")"; else echo "$f $(test -x "$f" && echo x) $(sha256sum < "$f")"; fi; done | sha256sum | cut -c1-64; }
says() { echo "{\"omoi\":\"event\",\"event_type\":\"agent.message\",\"event_data\":{\"content\":\"$1\"}}"; }
`

// TestFork_WhileTheOtherTaskRuns forks a running task: both end, on two branches, and the fork began with the files of the checkpoint.
func TestFork_WhileTheOtherTaskRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	repo := r.repo()
	made := r.submit(repo, command(digest+`if [ -n "$OMOI_RESTORED" ]; then says "$(digest) $(git branch --show-current) $OMOI_RESTORED"; fi
`+counts, `,"continuous":false`), asCommand)
	one := r.counted(made.ID)
	made = r.task(made.ID)

	asked := r.omoi("fork", made.Key, "--at", one, "--text", "Count no further.", "--json")
	require.Zero(t, asked.code, asked.stderr)
	var fork task.Task
	require.NoError(t, json.Unmarshal([]byte(asked.stdout), &fork), asked.stdout)
	fork = r.ends(fork.ID, task.StatusCompleted)
	require.NotEqual(t, made.ID, fork.ID)
	require.Equal(t, task.StatusRunning, r.task(made.ID).Status, "the other task continues")
	require.Equal(t, &task.ForkedFrom{TaskID: made.ID, TaskKey: made.Key, Checkpoint: one, Branches: []string{*made.Branch}}, fork.ForkedFrom)
	require.Contains(t, fork.Description, "Count no further.")
	first := fork.Attempts[0]
	require.Equal(t, []string{"forked", "0." + strings.TrimPrefix(one, "1.")}, []string{first.Kind, first.RestoredFrom})
	require.Equal(t, []string{r.digestAt(made.ID, one), *fork.Branch}, strings.Fields(r.message(first.SandboxID))[:2])
	require.Contains(t, r.message(first.SandboxID), "checkpoint "+one+" of task "+made.Key+", of which this task is a fork")
	require.Contains(t, r.message(first.SandboxID), "The branch "+*made.Branch+" is now "+*fork.Branch)

	r.moves(made.ID, 3)
	made = r.ends(made.ID, task.StatusCompleted)
	require.NotEqual(t, *made.Branch, *fork.Branch)
	require.NotEqual(t, *made.PullURL, *fork.PullURL)
	require.Equal(t, "3\n", r.git("-C", repo, "show", *made.Branch+":n.txt"))
	require.Equal(t, "1\n", r.git("-C", repo, "show", *fork.Branch+":n.txt"))

	_, err := r.pool.Exec(t.Context(), `DELETE FROM checkpoints WHERE task_id = $1`, made.ID)
	require.NoError(t, err)
	asked = r.omoi("rewind", fork.Key, "--to", first.RestoredFrom)
	require.Zero(t, asked.code, asked.stderr)
	r.rewound(fork.ID, first.RestoredFrom, 2)
	require.Equal(t, []string{*fork.Branch}, r.task(fork.ID).Earlier, "the fork has its own copy, and its own branches")
	r.noLeaks()
}

// message returns the first message of an agent.
func (r *rig) message(box string) (content string) {
	r.t.Helper()
	require.NoError(r.t, r.pool.QueryRow(r.t.Context(), `SELECT event_data ->> 'content' FROM sandbox_events
		WHERE sandbox_id = $1 AND event_type = 'agent.message' ORDER BY sequence LIMIT 1`, box).Scan(&content))
	return content
}

// digestAt returns the digest of the files of a checkpoint, in a clone of the repository.
func (r *rig) digestAt(id, checkpoint string) string {
	r.t.Helper()
	t := r.task(id)
	clone := filepath.Join(r.dir, "clone-"+t.Key)
	if _, err := os.Stat(clone); err != nil {
		r.git("clone", "-q", t.Repo, clone)
	}
	got := r.run("sh", "-c", digest+"cd "+clone+" && "+r.program()+" checkout "+id+" --at "+checkpoint+" >&2 && digest")
	require.Zero(r.t, got.code, got.stderr)
	return strings.TrimSpace(got.stdout)
}

// changes makes 500 changes of all kinds, as tool calls would. A later attempt says what it begins with.
const changes = digest + `if [ -n "$OMOI_RESTORED" ]; then says "$(digest)"; exit 0; fi
n=0; while [ $n -lt 500 ]; do n=$((n+1)); d="d$((n%7))"; mkdir -p "$d"; echo "$n" > "$d/f$((n%11))"; printf 'a\r\n%s' "$n" > "$d/crlf.txt"
ln -sfn "../d$((n%3))/f$n" "$d/link"; [ $((n%5)) = 0 ] && rm -rf "d$(((n+3)%7))"; [ $((n%2)) = 0 ] && chmod +x "$d/crlf.txt"
[ $((n%9)) = 0 ] && git add -A; [ $((n%50)) = 0 ] && git commit -qam "commit $n"; sleep 0.01; done`

// TestRewind_EveryCheckpointHasItsFiles rewinds tasks with many changes to random checkpoints: each attempt begins with the files of its
// checkpoint. OMOI_CHECKPOINT_REWINDS is the number of rewinds; 3 without it.
func TestRewind_EveryCheckpointHasItsFiles(t *testing.T) {
	t.Parallel()
	const perTask = 15 // a task has at most 20 attempts
	rewinds, err := strconv.Atoi(cmp.Or(os.Getenv("OMOI_CHECKPOINT_REWINDS"), "3"))
	require.NoError(t, err)
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	rng, repo := rand.New(rand.NewPCG(81, uint64(rewinds))), r.repo()
	for left := rewinds; left > 0; left -= perTask {
		made := r.submit(repo, command(changes, `,"continuous":false`), asCommand)
		r.ends(made.ID, task.StatusCompleted)
		all, err := r.api.Checkpoints(t.Context(), made.ID)
		require.NoError(t, err)
		for n := range min(left, perTask) {
			to := all[rng.IntN(len(all))].ID
			asked := r.omoi("rewind", made.ID, "--to", to)
			require.Zero(t, asked.code, asked.stderr)
			got := r.until(made.ID, "ends again", func(t task.Task) bool { return t.AttemptCount == n+2 && t.Status.Final() })
			require.Equal(t, task.StatusCompleted, got.Status, text(got.ErrorMessage))
			last := got.Attempts[n+1]
			require.Equal(t, to, last.RestoredFrom)
			require.Equal(t, r.digestAt(made.ID, to), r.message(last.SandboxID), to)
		}
	}
	r.noLeaks()
}
