package e2e_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// leavesWork is an agent that leaves uncommitted work and waits. In a later attempt it says what it found, and commits.
const leavesWork = `if [ -e left.txt ]; then echo "{\"omoi\":\"event\",\"event_type\":\"agent.message\",\"event_data\":{\"content\":\"found $(cat left.txt), $(git diff --cached --name-only)\"}}"; git add -A; git commit -qm work; exit; fi
echo left > left.txt; echo staged > staged.txt; git add staged.txt; sleep 1000`

// TestContinuity_NextAttemptHasTheFiles ends attempts from outside after their files are in a checkpoint: the next attempt has the
// files, the Git index too, also where the disk of the sandbox is lost.
func TestContinuity_NextAttemptHasTheFiles(t *testing.T) {
	t.Parallel()
	_, settings := startCloud(t)
	settings["OMOI_CHECKPOINT_INTERVAL"] = "100ms"
	r := newRig(t, settings).up()
	repo := r.repo()
	ends := map[string]func(t task.Task){
		"the agent is killed": func(t task.Task) {
			for _, pid := range processesBelow(task.SandboxName(text(t.SandboxID))) {
				if path.Base(argvOf(pid)[0]) == "omoi-agent" {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		},
		"the disk is lost": func(task task.Task) {
			r.killSandbox(task)
			require.NoError(r.t, os.RemoveAll(filepath.Join(r.env["OMOI_SANDBOX_DIR"], sandboxFolder(task))))
		},
		"a user asks for another attempt": func(t task.Task) { r.replaces(t) },
	}
	for name, end := range ends {
		made := r.submit(repo, command(leavesWork, `,"continuous":false`), asCommand, retries(3))
		r.keptIn(made.ID)
		end(r.task(made.ID))
		r.restoredIn(made.ID, name)
	}
	made := r.submit(repo, command(leavesWork, `,"continuous":false`), asCommand, retries(3), inDaytona)
	r.keptIn(made.ID)
	struck := r.omoi("sandbox", "exec", text(r.task(made.ID).SandboxID), "--", "sh", "-c", `kill -9 "$(cat "$OMOI_DIR/.ctl/child")"`)
	require.Zero(t, struck.code, struck.stderr)
	r.restoredIn(made.ID, "in Daytona")
	r.noLeaks()
}

// TestContinuity_InDocker kills the agent, and then the whole container: both times the next attempt has the files.
func TestContinuity_InDocker(t *testing.T) {
	t.Parallel()
	e, client := startEngine(t)
	settings := dockerSettings(t, e)
	settings["OMOI_CHECKPOINT_INTERVAL"] = "100ms"
	r := newRig(t, settings).up()
	repo := r.repo()
	inits := func(t task.Task) []int { return (&engine{e, client}).running(text(t.SandboxID)) }
	strikes := map[string]func(t task.Task) bool{
		"the agent": func(t task.Task) bool {
			first := inits(t)
			return signalAll(belowAny(processScan{}.recent(), func(pid int) bool { return slices.Contains(first, pid) }), isAgent, syscall.SIGKILL)
		},
		"the container": func(t task.Task) bool {
			return signalAll(inits(t), func([]string) bool { return true }, syscall.SIGKILL)
		},
	}
	for name, strike := range strikes {
		made := r.submit(repo, command(leavesWork, `,"continuous":false`), asCommand, retries(3), inDocker)
		r.keptIn(made.ID)
		require.True(t, strike(r.task(made.ID)), name)
		r.restoredIn(made.ID, name)
	}
	r.noLeaks()
	r.engineIsEmpty(client)
}

func sandboxFolder(t task.Task) string { return task.SandboxNamePrefix + text(t.SandboxID) }

// keptIn waits until the work of a task is in a checkpoint.
func (r *rig) keptIn(id string) {
	r.t.Helper()
	r.eventually("the work of "+id+" is in a checkpoint", func() bool {
		return r.count(`SELECT count(*) FROM checkpoints WHERE task_id = $1 AND files >= 2 AND has_index AND sealed_at IS NOT NULL`, id) > 0
	})
}

// restoredIn expects that the second attempt of a task began with the work of the first, and completed the task.
func (r *rig) restoredIn(id, name string) {
	r.t.Helper()
	got := r.ends(id, task.StatusCompleted)
	require.Equal(r.t, 2, got.AttemptCount, name)
	box := got.Attempts[1].SandboxID
	require.Equal(r.t, 1, r.stored(box, "agent.restored"), name)
	require.Regexp(r.t, `^1\.\d+$`, got.Attempts[1].RestoredFrom, name)
	require.Contains(r.t, r.omoi("show", id).stdout, " from checkpoint 1.", name)
	require.Equal(r.t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.message'
		AND event_data ->> 'content' = 'found left, staged.txt'`, box), name)
}

// replaces asks for another attempt in place of the running one.
func (r *rig) replaces(t task.Task) {
	r.t.Helper()
	status, problem := r.ask(ask{
		method: "POST", path: "/api/v1/sandboxes/" + text(t.SandboxID) + "/validation-result",
		body: `{"task_id":"` + t.ID + `","passed":false,"feedback":"look again"}`,
	})
	require.Equal(r.t, 200, status, problem)
}

// growsInSteps is an agent that writes a file in three versions, each of which gets into a checkpoint, and commits the last.
const growsInSteps = `for n in 1 2 3; do echo "$n" > grown.txt; printf 'a\r\n' > crlf.txt; touch "said$n"; until [ -e "go$n" ]; do sleep 0.05; done; :
done
git add -A; git commit -qm grown`

// TestContinuity_UserGetsFilesOfACheckpoint compares two checkpoints, and checks one out, in a clone of the repository.
func TestContinuity_UserGetsFilesOfACheckpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	repo := r.repo()
	made := r.submit(repo, command(growsInSteps, `,"continuous":false`), asCommand, retries(0))
	r.until(made.ID, "has a branch and runs", func(t task.Task) bool { return t.Branch != nil && t.Status == task.StatusRunning })
	var kept []string
	for n := range 3 {
		kept = append(kept, r.checkpointWith(made.ID, 3+2*n)) // two more files with each step
		r.releaseStep(made.ID, n+1)
	}
	r.ends(made.ID, task.StatusCompleted)

	clone := filepath.Join(r.dir, "clone")
	require.Zero(t, r.run("git", "clone", "-q", repo, clone).code)
	in := func(line string) result { return r.run("sh", "-c", "cd "+clone+" && "+line) }
	diff := in(r.program() + " diff " + made.ID + " --from " + kept[0] + " --to " + kept[2])
	require.Zero(t, diff.code, diff.stderr)
	require.Contains(t, diff.stdout, "-1\n+3\n")
	got := in(r.program() + " checkout " + made.ID + " --at " + kept[1])
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, "2\n", in("cat grown.txt").stdout)
	require.Equal(t, "a\r\n", in("cat crlf.txt").stdout)
	require.Empty(t, in("git status --porcelain").stdout)
	require.Contains(t, in("git log --format=%s -1").stdout, "Checkpoint "+kept[1])
	require.Contains(t, in(r.program()+" checkout "+made.ID+" --at 7.1").stderr, "The task has no checkpoint 7.1")
	listed := r.omoi("checkpoints", made.ID)
	require.Zero(t, listed.code, listed.stderr)
	require.Contains(t, listed.stdout, kept[1])
	r.noLeaks()
}

// checkpointWith waits for a checkpoint with a number of files and names the newest one.
func (r *rig) checkpointWith(id string, files int) (name string) {
	r.t.Helper()
	r.eventually("a checkpoint has the files", func() bool {
		all, err := r.api.Checkpoints(r.t.Context(), id)
		if err != nil || len(all) == 0 || all[0].Files < files {
			return false
		}
		name = all[0].ID
		return true
	})
	return name
}

// releaseStep lets the agent of a task take its next step.
func (r *rig) releaseStep(id string, n int) {
	r.t.Helper()
	res := r.omoi("sandbox", "exec", text(r.task(id).SandboxID), "--", "touch", "go"+strconv.Itoa(n))
	require.Zero(r.t, res.code, res.stderr)
}
